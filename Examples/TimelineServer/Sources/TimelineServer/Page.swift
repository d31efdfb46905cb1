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
    #state::before { content: "\\25CF "; color: #e8590c; }
    #state.live::before { color: #2b8a3e; }
    #problem { color: #e8590c; }
    ol { list-style: none; padding: 0; }
    li { display: grid; grid-template-columns: auto 1fr auto; gap: 0 1rem; padding: .75rem 0;
      border-bottom: 1px solid var(--line); }
    li b { font-weight: 600; } li p, li div { margin: 0; grid-column: 2; overflow-wrap: anywhere; }
    li img { height: 6rem; margin: .25rem .25rem 0 0; border-radius: .25rem; }
    .face { grid-area: 1 / 1 / 3; width: 2.75rem; height: 2.75rem; border-radius: 50%; display: grid; place-items: center;
      font-weight: 600; color: #fff; }
    button { font: inherit; background: none; border: 1px solid var(--line); border-radius: 1rem; padding: .1rem .8rem;
      cursor: pointer; }
    li button { grid-area: 1 / 3 / 3; align-self: center; }
    button[aria-pressed=true] { color: var(--accent); border-color: currentColor; }
    small, time { color: #888; } time { font-size: .8rem; margin-left: .5rem; }
    dl { display: grid; grid-template-columns: repeat(4, 1fr); gap: .5rem; margin: 1rem 0 0; }
    dl div { border: 1px solid var(--line); border-radius: .5rem; padding: .4rem .6rem; }
    dt { color: #888; font-size: .8rem; } dd { margin: 0; font-variant-numeric: tabular-nums; }
    dl[hidden] { display: none; }
    dl.old { opacity: .4; }
  </style>
  <header><h1 id="owner">Timeline</h1><small id="state" role="status">connecting</small></header>
  <p id="problem" role="alert"></p>
  <dl id="figures" aria-label="What the server does for all users" hidden>
    <div><dt>cache hits</dt><dd id="hits"></dd></div>
    <div><dt>connections</dt><dd id="connections"></dd></div>
    <div><dt>subscriptions</dt><dd id="subscriptions"></dd></div>
    <div><dt>browsers</dt><dd id="browsers"></dd></div>
  </dl>
  <ol id="moments"></ol>
  <nav><button id="newer" hidden>Newer</button> <button id="older" hidden>Older</button></nav>
  <script>
    const find = id => document.getElementById(id);
    const user = new URLSearchParams(location.search).get("user") ?? "0";
    const path = "/timelines/" + encodeURIComponent(user);
    // A browser may have a tab for each of several users.
    const as = "as=" + encodeURIComponent(user);
    const silence = 40_000;  // in milliseconds; the server sends something every 15 s
    let events, page = 1, shown = null, isConnected = false, heard = 0, failures = 0;

    // The age is the server's, and grows here.
    const tell = () => {
      const isLive = isConnected && shown && !shown.isOffline;
      const age = shown ? `; from ${Math.round(shown.age + (Date.now() - shown.arrived) / 1000)} s ago` : "";
      find("state").className = isLive ? "live" : "";
      find("state").textContent = isLive ? "live" : (isConnected ? (shown ? "the backend is away" : "connecting")
        : "not connected") + age;
      find("figures").className = isConnected ? "" : "old";
    };
    const tellFigures = figures => {
      find("hits").textContent = `${figures.hits} of ${figures.hits + figures.misses}`;
      find("connections").textContent = `${figures.connections}, ${figures.busyConnections} busy`;
      find("subscriptions").textContent = figures.subscriptions;
      find("browsers").textContent = figures.browsers;
      find("figures").hidden = false;
    };
    const tellProblem = text => { find("problem").textContent = text; };
    const reason = async response => response
      ? (await response.json().catch(() => null))?.error?.message ?? `the status is ${response.status}`
      : "the server is away";
    const send = (method, path) => fetch(path, { method }).catch(() => null);

    const like = async (id, isLiked) => {
      const response = await send(isLiked ? "PUT" : "DELETE", `${path}/likes/${encodeURIComponent(id)}?${as}`);
      tellProblem(response?.ok ? "" : `The like was not saved: ${await reason(response)}`);
    };

    // Elements stay while their moments do, so that the focus stays, too.
    const items = new Map();
    const newItem = id => {
      const item = document.createElement("li");
      item.id = id;
      item.innerHTML = '<span class="face" aria-hidden="true"></span>'
        + "<div><b></b><time></time></div><button></button><p></p><div></div>";
      const heart = item.querySelector("button");
      heart.onclick = () => like(id, heart.ariaPressed !== "true");
      return item;
    };
    const picture = (address, number, photos) => {
      const picture = document.createElement("img");
      Object.assign(picture, { src: address, alt: `photo ${number + 1} of ${photos.length}`, loading: "lazy",
        referrerPolicy: "no-referrer", onerror: () => picture.remove() });
      return picture;
    };
    const itemOf = moment => {
      const item = items.get(moment.id) ?? newItem(moment.id);
      const [name, time, heart, text, pictures] = item.querySelectorAll("b, time, button, p, li > div:last-child");
      const likes = moment.likes ?? [], photos = moment.photos ?? [], date = new Date(moment.createdDate * 1000);
      name.textContent = moment.userDetails.name;
      const face = item.querySelector(".face");
      face.textContent = moment.userDetails.name.slice(0, 1);
      face.style.background = `hsl(${[...moment.userDetails.id].reduce((sum, c) => sum + 47 * c.charCodeAt(), 0) % 360} 45% 45%)`;
      if (!isNaN(date)) { time.dateTime = date.toISOString(); time.textContent = date.toLocaleString(); }
      text.textContent = moment.title ?? moment.url ?? (photos.length === 1 ? "1 photo" : `${photos.length} photos`);
      if (pictures.dataset.photos !== String(photos)) {
        pictures.dataset.photos = photos;
        pictures.replaceChildren(...photos.filter(address => /^https?:/.test(address)).slice(0, 4).map(picture));
      }
      const isMine = likes.some(liker => liker.id === user);
      heart.textContent = `${isMine ? "♥" : "♡"} ${likes.length}`;
      heart.ariaPressed = isMine;
      heart.ariaLabel = `Like, ${likes.length} so far`;
      return item;
    };
    const draw = timeline => {
      shown = { ...timeline, arrived: Date.now() };
      find("owner").textContent = timeline.owner;
      const wanted = timeline.moments.map(itemOf), list = find("moments");
      items.clear();
      wanted.forEach(item => items.set(item.id, item));
      if (wanted.length !== list.children.length || wanted.some((item, i) => item !== list.children[i])) {
        list.replaceChildren(...wanted);
      }
      find("newer").hidden = page <= 1;
      find("older").hidden = page >= timeline.pageCount;
      tell();
    };

    const connect = () => {
      events?.close();
      heard = Date.now();
      const own = events = new EventSource(`${path}/events?page=${page}&${as}`);
      const isHeard = () => { heard = Date.now(); isConnected = true; };
      own.onopen = () => { isHeard(); tell(); };
      own.addEventListener("beat", isHeard);
      own.addEventListener("figures", event => { isHeard(); tellFigures(JSON.parse(event.data)); });
      own.onmessage = event => {
        isHeard();
        if (failures > 0) tellProblem("");
        failures = 0;
        draw(JSON.parse(event.data));
      };
      // A lost connection is made again by the browser; a refusal is not, so that signing in is left.
      own.onerror = () => {
        isConnected = false;
        tell();
        if (own === events && own.readyState === EventSource.CLOSED) signIn();
      };
    };
    const signIn = async () => {
      const response = await send("POST", `/login?user=${encodeURIComponent(user)}`);
      failures += 1;
      if (response?.ok && failures === 1) return connect();
      if (!response?.ok) tellProblem(`Signing in failed: ${await reason(response)}`);
      // What is refused once is refused again.
      if (response && response.status >= 400 && response.status < 500 && response.status !== 429) return;
      setTimeout(response?.ok ? connect : signIn, Math.min(30_000, 1000 * 2 ** (failures - 1)) * (0.5 + Math.random() / 2));
    };
    const turn = by => { page += by; connect(); };
    find("newer").onclick = () => turn(-1);
    find("older").onclick = () => turn(1);
    setInterval(() => {
      if (isConnected && Date.now() - heard > silence) { isConnected = false; connect(); }
      tell();
    }, 1000);
    connect();
  </script>
  </html>
  """
