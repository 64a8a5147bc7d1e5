// Pan and zoom of an SVG group by wheel, drag, buttons and keys. What the viewer chose survives updates.
(function (SP) {
  "use strict";

  const LEAST = 0.25;
  const MOST = 4;

  SP.PanZoom = class PanZoom {
    constructor(frame, group, { fit, moved }) {
      this.frame = frame;
      this.group = group;
      this.fit = fit;
      this.moved = moved;
      this.chosen = false; // the viewer zoomed or panned: no automatic fitting any more
      this.at = { x: 0, y: 0, scale: 1 };
      this.listen();
    }

    listen() {
      let last = null;
      let moved = false;
      let awake = false; // a page scrolling by under a resting pointer must not zoom
      const { frame } = this;
      frame.addEventListener("pointerdown", (event) => {
        if (event.button === 0) last = { x: event.clientX, y: event.clientY };
        moved = false;
      });
      frame.addEventListener("pointermove", (event) => {
        if (event.movementX || event.movementY) awake = true;
        if (!last) return;
        const [dx, dy] = [event.clientX - last.x, event.clientY - last.y];
        if (!moved && Math.hypot(dx, dy) < 4) return;
        if (!moved) frame.setPointerCapture(event.pointerId);
        moved = true;
        last = { x: event.clientX, y: event.clientY };
        this.pan(dx, dy);
      });
      frame.addEventListener("pointerup", () => (last = null));
      frame.addEventListener("pointercancel", () => (last = null));
      frame.addEventListener("pointerleave", () => (awake = false));
      // A drag is no click on the node under the pointer.
      frame.addEventListener("click", (event) => moved && event.stopPropagation(), true);
      frame.addEventListener("wheel", (event) => {
        if (!awake && !event.ctrlKey) return;
        event.preventDefault();
        const box = frame.getBoundingClientRect();
        this.zoom(Math.exp(-event.deltaY / 400), event.clientX - box.left, event.clientY - box.top);
        if (event.deltaX) this.pan(-event.deltaX, 0);
      }, { passive: false });
    }

    pan(dx, dy) {
      this.chosen = true;
      this.move({ ...this.at, x: this.at.x + dx, y: this.at.y + dy });
    }

    zoom(factor, x = this.frame.clientWidth / 2, y = this.frame.clientHeight / 2) {
      this.chosen = true;
      const scale = SP.clamp(this.at.scale * factor, LEAST, MOST);
      const ratio = scale / this.at.scale;
      this.move({ scale, x: x - (x - this.at.x) * ratio, y: y - (y - this.at.y) * ratio });
    }

    release() {
      this.chosen = false;
      this.fit();
    }

    move(at) {
      this.at = at;
      this.group.setAttribute("transform", `translate(${at.x.toFixed(1)} ${at.y.toFixed(1)}) scale(${at.scale.toFixed(4)})`);
      this.moved();
    }
  };
})((globalThis.SpecPlayer ??= {}));
