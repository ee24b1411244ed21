// Browsers start no workers for pages that are opened as files. The search of such a page runs in a
// hidden frame instead, which receives and posts messages as a worker does.
if (location.protocol === "file:") {
  window.IFrameWorker = window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.target = frame.contentWindow;
      addEventListener("message", (event) => {
        if (event.source === this.target)
          this.dispatchEvent(new MessageEvent("message", { data: event.data }));
      });
      const inside = this.target.document;
      this.ready = new Promise((resolve) => {
        inside.open();
        inside.write(
          "<script>postMessage = (data) => parent.postMessage(data, '*')</script>" +
            `<script src="${url}"></script>`,
        );
        this.target.addEventListener("load", resolve);
        inside.close();
      });
    }
    postMessage(data) {
      this.ready.then(() => this.target.dispatchEvent(new MessageEvent("message", { data })));
    }
    terminate() {
      this.target.frameElement.remove();
    }
  };
}
