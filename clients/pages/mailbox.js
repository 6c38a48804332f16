// A mail server that keeps what it gets, and what is in a mail.
import { createServer } from "node:net";

/** Opens a mail server (RFC 5321) that takes everything; answers with the mails, its URL and how it is closed. */
export async function openMailbox() {
  const mails = [];
  const server = createServer((socket) => converse(socket, mails));
  await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
  return { mails, url: `smtp://127.0.0.1:${server.address().port}`, close: () => server.close() };
}

function converse(socket, mails) {
  let rest = "";
  let mail = null;
  const answer = (line) => {
    if (mail !== null) {
      if (line !== ".") return mail.push(line.replace(/^\.\./, "."));
      mails.push(mail.join("\n"));
      mail = null;
      return socket.write("250 taken\r\n");
    }
    if (/^data/i.test(line)) {
      mail = [];
      return socket.write("354 go on\r\n");
    }
    socket.write(/^quit/i.test(line) ? "221 bye\r\n" : "250 yes\r\n");
  };
  socket.on("error", () => {});
  socket.on("data", (bytes) => {
    const lines = (rest + bytes).split("\r\n");
    rest = lines.pop();
    lines.forEach(answer);
  });
  socket.write("220 mail\r\n");
}

/** The plain text of a mail: quoted-printable (RFC 2045 6.7), base64 (6.8), or as it is. */
export function textOf(mail) {
  const part = mail.split("Content-Type: text/plain")[1];
  const head = part.slice(0, part.indexOf("\n\n"));
  const body = part.slice(head.length).split("\n--")[0];
  if (/base64/.test(head)) return Buffer.from(body, "base64").toString();
  if (!/quoted-printable/.test(head)) return body;
  const bytes = body.replaceAll("=\n", "").replace(/=([0-9A-F]{2})/g, (_, digits) => String.fromCharCode(parseInt(digits, 16)));
  return Buffer.from(bytes, "latin1").toString();
}

/** The six digits in the text of a mail, on a line of their own; `undefined` if there are none. */
export const codeIn = (text) => text.match(/^\s*(\d{6})\s*$/m)?.[1];

/** The first link in the text of a mail that leads to something sealed; `undefined` if there is none. */
export const linkIn = (text) => text.match(/http\S+\?\S+/)?.[0];
