// Datastores tab: what the visitor brings – files to the server in parts, and the survey of what they hold.

const PART_BYTES = 1024 * 1024;
const SEND_AT_ONCE = 3;
const LOOK_MS = 300;

/** A file's bytes in base64. */
async function base64(blob) {
  const url = await new Promise((done, failed) => {
    const reader = new FileReader();
    reader.onload = () => done(reader.result);
    reader.onerror = () => failed(reader.error);
    reader.readAsDataURL(blob);
  });
  return url.slice(url.indexOf(",") + 1);
}

/** All files that a drop holds, with their paths; folders are entered. */
async function droppedFiles(transfer) {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  if (!entries.length) return [...transfer.files].map((file) => ({ file, name: file.name }));
  const found = [];
  async function enter(entry, before) {
    const name = before + entry.name;
    if (entry.isFile) {
      found.push({ file: await new Promise((done, failed) => entry.file(done, failed)), name });
      return;
    }
    const reader = entry.createReader();
    for (;;) {  // a reader gives a hundred at a time
      const some = await new Promise((done, failed) => reader.readEntries(done, failed));
      if (!some.length) return;
      for (const inner of some) await enter(inner, name + "/");
    }
  }
  for (const entry of entries) await enter(entry, "");
  return found;
}

/**
 * An upload: sends files as they are added, one request after the other for each file.
 *
 * server: its functions; skip(name): the file's bytes stay here, its name is sent to be told of;
 * changed: called whenever something is to be drawn anew.
 */
function createUpload({ server, skip, changed, store = false }) {
  let upload = null, next = 0, opening = null, closed = false;
  const files = new Map();   // number → {name, size, sent}
  const queue = [];
  let sending = 0, failure = null;

  async function send(parts) {
    if (!upload && opening) await opening;
    const first = upload ? null : lab.ask(server, "send", { parts, store });
    if (first) opening = first.then((answer) => { upload = answer.upload ?? null; }, () => {}).finally(() => { opening = null; });
    const answer = await (first ?? lab.ask(server, "send", { upload, parts }));
    if (closed && answer.upload) lab.ask(server, "forget", { upload: answer.upload }).catch(() => {});
    if (answer.problem) throw answer.problem;
  }

  /** Several small files in one request; a large one in several. */
  async function work() {
    while (queue.length && !failure && !closed) {
      const some = [];
      for (let bytes = 0; queue.length && (!some.length || bytes + queue[0].file.size <= PART_BYTES) && some.length < 200;) {
        some.push(queue.shift());
        bytes += skip(some.at(-1).name) ? 0 : some.at(-1).file.size;
      }
      try {
        const { number, file, name } = some[0];
        if (some.length === 1 && file.size > PART_BYTES && !skip(name)) {
          for (let at = 0; at < file.size && files.has(number) && !closed; at += PART_BYTES) {
            const blob = file.slice(at, at + PART_BYTES);
            await send([{ file: number, name, at, data: await base64(blob) }]);
            if (files.has(number)) files.get(number).sent = at + blob.size;
            changed();
          }
        } else {
          const kept = some.filter(({ number: one }) => files.has(one));
          await send(await Promise.all(kept.map(async ({ number: one, file: data, name: called }) => (
            { file: one, name: called, at: 0, data: skip(called) ? "" : await base64(data) }))));
          for (const { number: one } of kept) if (files.has(one)) files.get(one).sent = files.get(one).size;
          changed();
        }
      } catch (problem) {
        failure = problem?.key ? problem : { key: "studio.no_answer" };
      }
    }
  }

  async function start() {
    if (sending >= (upload ? SEND_AT_ONCE : 1)) return;
    sending++;
    await work();
    sending--;
    changed();
  }

  return {
    get id() { return upload; },
    get failure() { return failure; },
    get busy() { return sending > 0 || queue.length > 0; },
    get share() {
      const all = [...files.values()];
      return all.reduce((sum, { sent }) => sum + sent, 0) / Math.max(all.reduce((sum, { size }) => sum + size, 0), 1);
    },
    files,

    add(found) {
      for (const { file, name } of found) {
        const number = next++;
        files.set(number, { name, size: skip(name) ? 0 : file.size, sent: 0 });
        queue.push({ number, file, name });
      }
      for (let i = 0; i < SEND_AT_ONCE; i++) start();
    },

    remove(numbers) {
      for (const number of numbers) files.delete(number);
      if (upload) lab.ask(server, "forget", { upload, files: numbers }).catch(() => {});
    },

    /** Take all back; also while the page is closing, as well as that works. */
    close({ built = false } = {}) {
      closed = true;
      if (upload && !built) lab.ask(server, "forget", { upload }).catch(() => {});
    },
  };
}

/** Wait for an errand; told(look) while it goes on. Gives its result, or null where it was given up; throws a problem. */
async function waitForErrand(server, errand, told, wanted = () => true) {
  for (;;) {
    const look = await lab.ask(server, "look", { errand });
    if (!wanted()) {
      lab.ask(server, "give_up", { errand }).catch(() => {});
      return null;
    }
    if (look.state === "done") return look.result;
    if (look.state === "failed") throw look.problem;
    if (look.state === "cancelled") return null;
    told(look);
    await new Promise((wake) => setTimeout(wake, LOOK_MS));
  }
}
