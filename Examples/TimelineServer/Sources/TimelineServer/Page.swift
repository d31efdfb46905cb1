/// The page for the browser: a timeline that is drawn again with each event.
let page = """
  <!doctype html>
  <html lang="en">
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width">
  <title>Timeline</title>
  <style>
    :root { color-scheme: light dark; --line: #8884; --accent: #d6336c; }
    body { font: 16px/1.5 system-ui, sans-serif; max-width: 42rem; margin: 0 auto; padding: 1.5rem 1rem; }
    header { display: flex; align-items: baseline; gap: 1rem; border-bottom: 1px solid var(--line); }
    h1 { font-size: 1.5rem; margin: 0 auto 0 0; }
    #state::before { content: "\\25CF "; color: #2b8a3e; }
    #state.offline::before { color: #e8590c; }
    ol { list-style: none; padding: 0; }
    li { display: grid; grid-template-columns: 1fr auto; gap: 0 1rem; padding: .75rem 0; border-bottom: 1px solid var(--line); }
    li b { font-weight: 600; } li p { margin: 0; grid-column: 1; overflow-wrap: anywhere; }
    button { grid-area: 1 / 2 / 3; font: inherit; align-self: center; background: none; border: 1px solid var(--line);
      border-radius: 1rem; padding: .1rem .8rem; cursor: pointer; }
    button.mine { color: var(--accent); border-color: currentColor; }
    small { color: #888; }
  </style>
  <header><h1 id="owner">Timeline</h1><small id="state"></small></header>
  <ol id="moments"></ol>
  <script>
    const user = new URLSearchParams(location.search).get("user") ?? "0";
    const path = "/timelines/" + encodeURIComponent(user);
    let shown = null;

    // The age is the server's, and grows here.
    const tell = () => {
      if (!shown) return;
      const seconds = Math.round(shown.age + (Date.now() - shown.arrived) / 1000);
      const state = document.getElementById("state");
      state.className = shown.isOffline ? "offline" : "";
      state.textContent = shown.isOffline ? `the backend is away; from ${seconds} s ago` : "live";
    };
    const like = async (moment, isMine) => {
      await fetch(`${path}/likes/${encodeURIComponent(moment.id)}`, { method: isMine ? "DELETE" : "PUT" });
    };
    const item = moment => {
      const [item, name, text, heart] = ["li", "b", "p", "button"].map(tag => document.createElement(tag));
      const likes = moment.likes ?? [], isMine = likes.some(liker => liker.id === user);
      item.id = moment.id;
      name.textContent = moment.userDetails.name;
      text.textContent = moment.title ?? moment.url ?? `${moment.photos.length} photos`;
      heart.textContent = `${isMine ? "♥" : "♡"} ${likes.length}`;
      heart.className = isMine ? "mine" : "";
      heart.onclick = () => like(moment, isMine);
      item.append(name, heart, text);
      return item;
    };
    const draw = timeline => {
      shown = { ...timeline, arrived: Date.now() };
      document.getElementById("owner").textContent = timeline.owner;
      document.getElementById("moments").replaceChildren(...timeline.moments.map(item));
      tell();
    };
    const follow = () => {
      const events = new EventSource(`${path}/events`);
      events.onmessage = event => draw(JSON.parse(event.data));
      // A lost connection is made again by the browser; a refusal is not, so that signing in is left.
      events.onerror = async () => {
        if (events.readyState !== EventSource.CLOSED) return;
        await fetch(`/login?user=${encodeURIComponent(user)}`, { method: "POST" }).catch(() => {});
        setTimeout(follow, 1000 * (shown !== null));
      };
    };
    setInterval(tell, 1000);
    follow();
  </script>
  </html>
  """
