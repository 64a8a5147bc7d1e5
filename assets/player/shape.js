// The player's shape: wide, usual or narrow, by its own width and not the window's, since it stands
// beside other things; or the projector, the whole window. Classes instead of container queries,
// because host pages that rewrite style sheets (gradio does) drop what they do not know.
(function (SP) {
  "use strict";

  const WIDE = 1150;
  const NARROW = 760;

  SP.Shape = class Shape {
    constructor(root) {
      this.root = root;
      this.projector = false;
      this.width = 0;
      this.observer = new ResizeObserver(([{ contentRect }]) => {
        this.width = contentRect.width;
        this.mark();
      });
      this.observer.observe(root);
    }

    mark() {
      const own = !this.projector && this.width > 0;
      this.root.classList.toggle("sp-projector", this.projector);
      this.root.classList.toggle("sp-wide", own && this.width >= WIDE);
      this.root.classList.toggle("sp-narrow", own && this.width < NARROW);
    }

    // In the top layer, so that nothing of the host page covers it.
    setProjector(on) {
      this.projector = on;
      this.mark();
      if (on) {
        this.root.setAttribute("popover", "manual");
        this.root.showPopover();
      } else {
        this.root.hidePopover();
        this.root.removeAttribute("popover");
      }
    }

    destroy() {
      this.observer.disconnect();
      if (this.projector) this.setProjector(false);
      this.root.classList.remove("sp-wide", "sp-narrow");
    }
  };
})((globalThis.SpecPlayer ??= {}));
