// A sign-up form that warns of leaked passwords without telling anybody the password.

import { connect } from "./papir/index.js";

const form = document.querySelector("form");
const password = document.getElementById("password");
const advice = document.getElementById("advice");

/** The service's address: of this page's own service here. */
const SERVICE = new URL("..", location.href).href;

/** The longest wait for the service: a sign-up does not depend on it. */
const TIMEOUT_SECONDS = 5;

let connection;

/** The database; connected again after a failure. */
function leaked() {
  connection ??= connect(SERVICE, { timeout: TIMEOUT_SECONDS }).catch((error) => {
    connection = undefined;
    throw error;
  });
  return connection;
}

/** The password that was checked last, and the promise of its rank: null if it has not leaked. */
let checked = {};

function rankOf(text) {
  if (checked.password !== text) {
    checked = { password: text, rank: leaked().then((database) => database.get(text)) };
  }
  return checked.rank;
}

/** Warns if the password has leaked. Returns whether it has. A password that changes meanwhile is checked again. */
async function check() {
  const text = password.value;
  if (text.length < password.minLength) return false;
  say("Checking…");
  let rank;
  try {
    rank = await rankOf(text);
  } catch {
    checked = {};
    // Whoever blocks the check must not block the form.
    say("The check is not available now.");
    return false;
  }
  if (text !== password.value) return check();
  const place = rank && new TextDecoder().decode(rank);
  const warning = `This password has leaked: it is number ${place} of the most common ones.`;
  say(rank ? warning : "This password is not among the leaked ones.", Boolean(rank));
  return Boolean(rank);
}

function say(text, isLeaked = false) {
  advice.textContent = text;
  advice.classList.toggle("leaked", isLeaked);
  password.setAttribute("aria-invalid", isLeaked);
}

// Once when the field is left, not at each key: the times of lookups would tell how somebody types.
password.addEventListener("change", check);
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  if (await check()) return password.focus();
  document.getElementById("done").textContent = "Account created.";
});
