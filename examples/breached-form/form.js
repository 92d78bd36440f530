// A sign-up form that warns of leaked passwords without telling anybody the password.

import { connect } from "./papir/index.js";

const form = document.querySelector("form");
const password = document.getElementById("password");
const advice = document.getElementById("advice");

// The service's address; of this page's own service here.
const leaked = connect(new URL("..", location.href).href);

/** The password that was checked last, and the promise of its rank: null if it has not leaked. */
let checked = { password: undefined, rank: undefined };

function rankOf(text) {
  if (checked.password !== text) {
    checked = { password: text, rank: leaked.then((database) => database.get(text)) };
  }
  return checked.rank;
}

/** Warns if the password has leaked. Returns whether it has. */
async function check() {
  const text = password.value;
  if (text.length < password.minLength) return false;
  say("Checking…");
  try {
    const rank = await rankOf(text);
    if (text !== password.value) return false;
    say(
      rank ? `This password has leaked: it is number ${new TextDecoder().decode(rank)} of the most common ones.` : "This password is not among the leaked ones.",
      Boolean(rank),
    );
    return Boolean(rank);
  } catch {
    checked = {};
    // An attacker who blocks the check must not block the form.
    say("The check is not available now.");
    return false;
  }
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
