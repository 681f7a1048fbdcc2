// Browsers refuse to start a Worker for a page that was opened from the disk. This one runs the script in a hidden frame
// instead, so that the search works there too. The theme looks for the name IFrameWorker.
class IFrameWorker extends EventTarget {
  constructor(url) {
    super();
    this.frame = document.createElement("iframe");
    this.frame.hidden = true;
    document.body.append(this.frame);
    this.inner = this.frame.contentWindow;
    this.inner.document.open();
    this.inner.document.write("<!doctype html><title>worker</title><body></body>");
    this.inner.document.close();
    this.inner.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
    this.inner.importScripts = (...urls) =>
      urls.reduce((before, each) => before.then(() => this.load(each)), Promise.resolve());
    this.loaded = this.load(url);
  }

  load(url) {
    return new Promise((resolve, reject) => {
      const script = this.inner.document.createElement("script");
      script.src = url;
      script.onload = resolve;
      script.onerror = reject;
      this.inner.document.body.append(script);
    });
  }

  postMessage(data) {
    this.loaded.then(() => this.inner.dispatchEvent(new MessageEvent("message", { data })));
  }

  terminate() {
    this.frame.remove();
  }
}

if (location.protocol === "file:") {
  window.IFrameWorker = IFrameWorker;
  window.Worker = IFrameWorker;
}
