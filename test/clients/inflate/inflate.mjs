// Requests a gzip response, decompresses its body with node's zlib, and writes the text to standard output.
import { readFileSync } from "node:fs";
import https from "node:https";
import { pipeline } from "node:stream/promises";
import zlib from "node:zlib";

const [ca, url] = process.argv.slice(2);
const headers = { Accept: "application/json", "Accept-Encoding": "gzip" };
https.get(url, { ca: readFileSync(ca), headers, agent: false }, async (answer) => {
  if (answer.statusCode !== 200 || answer.headers["content-encoding"] !== "gzip") {
    console.error(answer.statusCode, answer.headers);
    process.exit(1);
  }
  await pipeline(answer, zlib.createGunzip(), process.stdout);
});
