// Keys. They belong to the player that has the focus or the pointer, or that is the only one in
// sight; never to someone who is typing or working with a control of the host page.
(function (SP) {
  "use strict";

  const TYPING = "input, textarea, select, [contenteditable]:not([contenteditable=false])";
  const CONTROL = "button, a[href], summary, [role=tab], [role=slider], [role=listbox], [role=menu], [role=radio], [role=option]";
  const players = new Set();

  const inSight = (player) => player.root.getClientRects().length > 0;

  // Letters mean nothing to a focused control elsewhere in the page; arrows and Space may.
  function isMeant(player, target, key) {
    if (player.root.contains(target) || player.root.matches(":hover")) return true;
    const alone = [...players].filter(inSight).length === 1 && inSight(player);
    return alone && (/^[a-z?]$/.test(key) || !target.closest?.(CONTROL));
  }

  SP.listenToKeys = (player) => {
    const { actions } = player;
    const act = {
      ArrowLeft: () => actions.browse(player.state.step - 1),
      ArrowRight: () => actions.browse(player.state.step + 1),
      Home: () => actions.browse(0),
      End: () => actions.browse(actions.last),
      " ": () => actions.togglePlay(),
      f: () => actions.follow(),
      p: () => player.toggleProjector(),
      "?": () => player.help.open(),
      Escape: () => player.escape(),
    };
    // Up and down scroll the page, unless a panel of nodes has the focus.
    const walk = { ArrowUp: -1, ArrowDown: 1 };

    const onKey = (event) => {
      const { target, key } = event;
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
      if (target.closest?.(TYPING) || document.querySelector("dialog[open], .sp-export-menu:popover-open")) return;
      const name = key.length === 1 ? key.toLowerCase() : key;
      if (!isMeant(player, target, name)) return;
      if (key === " " && target.closest?.("button")) return;
      const node = player.root.contains(target) && target.closest?.(".sp-trie, .sp-chips, .sp-mask") ? walk[name] : undefined;
      const chosen = node ? () => actions.walk(node) : act[name];
      if (!chosen) return;
      event.preventDefault();
      chosen();
    };
    players.add(player);
    document.addEventListener("keydown", onKey);
    return () => {
      players.delete(player);
      document.removeEventListener("keydown", onKey);
    };
  };
})((globalThis.SpecPlayer ??= {}));
