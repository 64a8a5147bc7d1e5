"""The markup of the Datastores tab; the scripts fill in words, rows and figures."""

from __future__ import annotations

STUDIO = """
<div class="lab-studio">
  <div class="lab-side">
    <p class="lab-studio-read-only" data-part="read-only" data-say="studio.read_only" hidden></p>
    <section class="lab-studio-form" data-part="form" aria-labelledby="lab-studio-title">
      <h2 id="lab-studio-title" data-part="title"></h2>
      <div class="lab-drop" data-part="drop">
        <div class="lab-studio-row">
          <label class="lab-file"><span data-say="studio.choose"></span>
            <input type="file" multiple data-part="file" data-say-title="studio.choose"></label>
          <label class="lab-file"><span data-say="studio.folder"></span>
            <input type="file" webkitdirectory multiple data-part="folder" data-say-title="studio.folder"></label>
        </div>
        <p data-say="studio.drop"></p>
      </div>
      <details data-part="kinds"><summary data-say="studio.kinds"></summary>
        <p class="lab-note" data-say="studio.kinds.about"></p><p class="lab-note" data-part="limits"></p></details>
      <details data-part="paste"><summary data-say="studio.paste"></summary>
        <textarea data-part="text" rows="5" spellcheck="false" data-say-title="studio.paste"></textarea>
        <button type="button" data-part="add"><span data-say="studio.paste.add"></span></button></details>
      <ul class="lab-studio-files" data-part="files"></ul>
      <div class="lab-studio-reading" data-part="reading" hidden>
        <p role="status" data-part="said"></p><progress data-part="bar" max="1"></progress></div>
      <div class="lab-studio-field"><label for="lab-studio-name" data-say="studio.name"></label>
        <input id="lab-studio-name" data-part="name" maxlength="64" autocomplete="off" spellcheck="false"></div>
      <div class="lab-studio-field"><label for="lab-studio-target" data-say="studio.target"></label>
        <p class="lab-note" data-say="studio.target.info"></p>
        <input id="lab-studio-target" data-part="target" list="lab-studio-targets" autocomplete="off" spellcheck="false">
        <datalist id="lab-studio-targets" data-part="targets"></datalist></div>
      <div class="lab-studio-field" data-part="field-row" hidden><label for="lab-studio-field" data-say="studio.field"></label>
        <select id="lab-studio-field" data-part="field"></select></div>
      <label class="lab-studio-check" data-part="chat-row" hidden><input type="checkbox" data-part="chat">
        <span data-say="studio.chat"></span></label>
    </section>
    <div class="lab-studio-do" data-part="do">
      <p class="lab-problem" data-part="problem" role="alert"></p>
      <div class="lab-studio-row">
        <button type="button" class="lab-primary" data-part="build"><span data-part="build-word"></span></button>
        <button type="button" data-part="clear"><span data-say="studio.clear"></span></button></div>
    </div>
  </div>
  <div class="lab-studio-main">
    <section class="lab-card" data-part="survey" aria-labelledby="lab-studio-survey" hidden>
      <h2 id="lab-studio-survey" data-say="studio.survey"></h2><div data-part="survey-body"></div></section>
    <section class="lab-card" data-part="builds" aria-labelledby="lab-studio-builds" hidden>
      <h2 id="lab-studio-builds" data-say="studio.builds"></h2><ul data-part="build-list"></ul></section>
    <section class="lab-card" aria-labelledby="lab-studio-stores">
      <div class="lab-studio-head"><h2 id="lab-studio-stores" data-say="studio.stores"></h2>
        <label class="lab-file lab-quiet-file" data-part="bring-row"><span data-say="studio.bring"></span>
          <input type="file" accept=".tar" data-part="bring" data-say-title="studio.bring.info"></label></div>
      <p class="lab-problem" data-part="store-problem" role="alert"></p>
      <p class="lab-note" data-part="store-said" role="status"></p>
      <div class="lab-studio-scroll"><table data-part="stores"></table></div>
      <p class="lab-note" data-part="none" data-say="studio.none" hidden></p>
    </section>
  </div>
  <dialog class="lab-studio-dialog" data-part="dialog" aria-labelledby="lab-studio-ask">
    <p id="lab-studio-ask" data-part="ask"></p>
    <div class="lab-studio-row"><button type="button" data-part="keep"><span data-say="studio.delete.keep"></span></button>
      <button type="button" class="lab-danger" data-part="sure"><span data-say="studio.delete"></span></button></div>
  </dialog>
</div>
"""
