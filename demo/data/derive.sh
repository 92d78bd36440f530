#!/usr/bin/env bash
# Derives common-passwords.csv and LICENSE.txt from the npm package. Needs npm, node, tar, sha256sum.
set -euo pipefail
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
(cd "$work" && npm pack --silent zxcvbn@4.4.2 >/dev/null)
echo "0b3ebb60ec2df2340e1b8b70e4cb2657a3ceb192781d299310e7aceaa606cd22  $work/zxcvbn-4.4.2.tgz" | sha256sum --check --quiet
tar -xzf "$work/zxcvbn-4.4.2.tgz" -C "$work"
cp "$work/package/LICENSE.txt" LICENSE.txt
node -e '
  const { passwords } = require(process.argv[1]);
  const cell = text => /[",\r\n]/.test(text) ? `"${text.replaceAll("\"", "\"\"")}"` : text;
  const rows = passwords.map((password, i) => `${cell(password)},${i + 1}\n`);
  process.stdout.write("password,rank\n" + rows.join(""));
' "$work/package/lib/frequency_lists.js" > common-passwords.csv
