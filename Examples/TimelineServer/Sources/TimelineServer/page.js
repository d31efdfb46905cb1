const find = id => document.getElementById(id);
const user = new URLSearchParams(location.search).get("user") ?? "0";
const path = "/timelines/" + encodeURIComponent(user);
// A browser may have a tab for each of several users.
const as = "as=" + encodeURIComponent(user);
// In milliseconds: the server sends something every 5 s, and may take a minute to ask its backend.
const silence = 12_000, patience = 60_000;
// Whether there is a connection (`null` before the first), when it was last heard, and what it has brought.
let events, isConnected = null, heard = 0, shown = null, isCurrent = false, failures = 0;
// Each attempt to connect or to sign in takes the place of the one before, and of what that waits for.
let attempt = 0, pause = 0;
const askedPage = () => {
  const page = Math.floor(Number(new URLSearchParams(location.search).get("page") ?? 1));
  return page >= 1 && Number.isSafeInteger(page) ? page : 1;
};
let page = askedPage();

const count = (number, noun) => `${number.toLocaleString()} ${noun}${number === 1 ? "" : "s"}`;
const ago = seconds => {
  const units = [[86_400, "day"], [3600, "hour"], [60, "minute"], [0, "second"]];
  const [size, unit] = units.find(([size]) => seconds >= size);
  return new Intl.RelativeTimeFormat("en").format(-Math.floor(seconds / (size || 1)), unit);
};
// What is as it was is not written, since screen readers would read it again.
const write = (element, text) => { if (element.textContent !== text) element.textContent = text; };

// For how long the server was not heard, by a clock that somebody may have set back meanwhile.
const quiet = () => Date.now() < heard ? Infinity : Date.now() - heard;
// The page is live while the server is heard, has what the backend has, and the backend sends it what changes. The age
// is the server's, and grows here.
const tell = () => {
  const isHeard = isConnected && quiet() < silence;
  const isLive = isHeard && isCurrent && !shown.isOffline && shown.isFollowed === true;
  find("state").className = isLive ? "live" : "";
  write(find("state"), isLive ? "live" : isHeard && isCurrent && shown.isOffline ? "the backend is away"
    : isHeard && isCurrent && shown.isFollowed === false ? "the backend sends no changes"
    : isHeard || isConnected === null ? "connecting" : "not connected");
  write(find("age"), isLive || !shown ? "" : `as of ${ago(Math.max(0, shown.age + (Date.now() - shown.arrived) / 1000))}`);
  find("figures").className = isHeard ? "" : "old";
  write(find("when"), isHeard ? "What the server does for all users" : "What the server did when it was last heard");
};
const tellFigures = figures => {
  const reads = figures.hits + figures.misses;
  const share = (reads ? figures.hits / reads : 0).toLocaleString(undefined, { style: "percent" });
  write(find("hits"), share);
  write(find("reads"), `${figures.hits.toLocaleString()} of ${reads.toLocaleString()}`);
  write(find("connections"), figures.connections.toLocaleString());
  write(find("busy"), `${figures.busyConnections.toLocaleString()} busy`);
  write(find("subscriptions"), figures.subscriptions.toLocaleString());
  write(find("browsers"), figures.browsers.toLocaleString());
  find("figures").hidden = false;
};
const tellProblem = text => write(find("problem"), text);

const send = (method, path) => fetch(path, { method, signal: AbortSignal.timeout(patience) }).catch(() => null);
const reason = async response => response
  ? (await response.json().catch(() => null))?.error?.message ?? `the status is ${response.status}`
  : "the server is away";

// What the user wants of each moment whose like is being saved: whenever a heart is pressed, the opposite of what it shows.
const wishes = new Map();
// The event that follows shows the like, here as in all other browsers. It may come before the response: what is wanted
// until then is sent after it.
const like = async (id, heart) => {
  const isBusy = wishes.has(id);
  wishes.set(id, heart.ariaPressed !== "true");
  if (isBusy) return;
  heart.ariaBusy = "true";
  let isLiked, response;
  const set = () => send(isLiked ? "PUT" : "DELETE", `${path}/likes/${encodeURIComponent(id)}?${as}`);
  do {
    isLiked = wishes.get(id);
    response = await set();
    // The server has forgotten who this is.
    if (response?.status === 401 && (await logIn())?.ok) response = await set();
  } while (response?.ok && wishes.get(id) !== isLiked);
  wishes.delete(id);
  heart.ariaBusy = "false";
  tellProblem(response?.ok ? "" : `The like was not saved: ${await reason(response)}`);
};

// A name that is written from right to left, or pretends to be, does not turn what is around it.
const isolated = name => `\u2068${name}\u2069`;
// The newest first, so that a like shows by its name.
const likersText = likers => {
  const names = likers.filter(liker => liker.id !== user).map(liker => isolated(liker.name)).reverse();
  if (names.length < likers.length) names.unshift("you");
  const rest = names.length > 4 ? names.splice(3).length : 0;
  if (rest) names.push(`${rest.toLocaleString()} others`);
  return names.length ? `Liked by ${new Intl.ListFormat("en").format(names)}` : "";
};
const isWeb = address => /^https?:/.test(address ?? "");
// An image that cannot be had is left out.
const image = (address, alt, remove) => Object.assign(document.createElement("img"),
  { src: address, alt, loading: "lazy", referrerPolicy: "no-referrer", onerror: remove });
const link = (address, content) => {
  const link = Object.assign(document.createElement("a"), { href: address, target: "_blank", rel: "noreferrer" });
  link.append(content);
  return link;
};
const photo = (address, index, photos) => {
  const photo = link(address, image(address, `Photo ${index + 1} of ${photos.length}`, () => photo.remove()));
  return photo;
};
// Elements stay while their moments do, so that the focus stays, too.
const items = new Map();
const newItem = moment => {
  const item = find("moment").content.firstElementChild.cloneNode(true);
  const part = selector => item.querySelector(selector);
  const author = moment.userDetails, photos = moment.photos ?? [], date = new Date(moment.createdDate * 1000);
  const [face, text, heart] = [part(".face"), part(".text"), part("button")];
  item.dataset.id = moment.id;
  face.textContent = [...author.name][0] ?? "";
  face.style.background = `hsl(${[...author.name].reduce((sum, c) => sum + 47 * c.codePointAt(), 0) % 360} 45% 32%)`;
  if (isWeb(author.avatar)) {
    const picture = image(author.avatar, "", () => picture.remove());
    face.append(picture);
  }
  part("h2").textContent = author.name;
  if (!isNaN(date)) {
    part("time").dateTime = date.toISOString();
    part("time").textContent = date.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
  }
  part("small").textContent = photos.length ? "· " + count(photos.length, "photo") : "";
  text.textContent = moment.title || moment.url || "";
  if (isWeb(moment.url)) text.replaceChildren(link(moment.url, text.textContent));
  part(".photos").append(...photos.filter(isWeb).slice(0, 4).map(photo));
  heart.onclick = () => like(moment.id, heart);
  return item;
};
const itemOf = moment => {
  // All but the likes makes the element.
  const { likes, isLiked, ...rest } = moment, content = JSON.stringify(rest), old = items.get(moment.id);
  const item = old?.content === content ? old.item : newItem(moment);
  const heart = item.querySelector("button"), likers = likes ?? [], isMine = likers.some(liker => liker.id === user);
  const text = `${isMine ? "♥" : "♡"} ${likers.length.toLocaleString()}`;
  if (heart.textContent && heart.textContent !== text && !matchMedia("(prefers-reduced-motion: reduce)").matches) {
    heart.animate([{ transform: "scale(1.3)" }, { transform: "none" }], 300);
  }
  write(heart, text);
  write(item.querySelector(".likers"), likersText(likers));
  heart.ariaPressed = isMine;
  heart.ariaLabel = `Like ${moment.userDetails.name}: ${moment.title || "no title"}, ${count(likers.length, "like")}`;
  return { item, content };
};
const draw = timeline => {
  shown = { ...timeline, arrived: Date.now() };
  write(find("owner"), timeline.owner);
  document.title = `${timeline.owner} – Timeline`;
  const wanted = timeline.moments.map(moment => [moment.id, itemOf(moment)]), list = find("moments");
  items.clear();
  wanted.forEach(([id, entry]) => items.set(id, entry));
  const elements = wanted.map(([, entry]) => entry.item);
  if (elements.length !== list.children.length || elements.some((element, i) => element !== list.children[i])) {
    const focused = document.activeElement;
    list.replaceChildren(...elements);
    focused?.focus({ preventScroll: true });
  }
  find("none").hidden = elements.length > 0;
  find("newer").hidden = page <= 1;
  find("older").hidden = page >= timeline.pageCount;
  const [place, last] = [page.toLocaleString(), timeline.pageCount.toLocaleString()];
  write(find("place"), timeline.pageCount > 1 ? `Page ${place} of ${last}` : "");
  isCurrent = true;
  tell();
};

const begin = () => {
  clearTimeout(pause);
  return attempt += 1;
};
const connect = () => {
  begin();
  events?.close();
  heard = Date.now();
  isCurrent = false;
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
    isConnected = isCurrent = false;
    tell();
    if (own === events && own.readyState === EventSource.CLOSED) signIn();
  };
};
const logIn = () => send("POST", `/login?user=${encodeURIComponent(user)}`);
const signIn = async () => {
  const own = begin();
  events = null;
  let response = await logIn();
  const isSignedIn = response?.ok;
  if (own !== attempt) return;
  failures += 1;
  if (isSignedIn && failures === 1) return connect();
  // An event source does not say why it was refused.
  if (isSignedIn) response = await send("GET", `${path}?page=${page}&${as}`);
  const text = response?.ok ? "" : `${isSignedIn ? "The timeline cannot be had" : "Signing in failed"}: ${await reason(response)}`;
  if (own !== attempt) return;
  if (text) tellProblem(text);
  // What is refused once is refused again.
  const mayPass = isSignedIn ? [401, 429] : [429];
  if (response && response.status >= 400 && response.status < 500 && !mayPass.includes(response.status)) return;
  const seconds = Math.min(30, 2 ** (failures - 1)) * (0.5 + Math.random() / 2);
  pause = setTimeout(isSignedIn ? connect : signIn, 1000 * seconds);
};

const turn = to => {
  page = to;
  history.pushState(null, "", `?${new URLSearchParams({ user, page })}`);
  find("owner").focus();
  connect();
};
find("newer").onclick = () => turn(Math.max(1, Math.min(page - 1, shown.pageCount)));
find("older").onclick = () => turn(Math.min(page + 1, shown.pageCount));
onpopstate = () => { page = askedPage(); connect(); };

const look = () => {
  if (events && quiet() > (isConnected ? silence : patience)) {
    isConnected = false;
    connect();
  }
  tell();
};
setInterval(look, 1000);
// The clock of a page that nobody sees may stand still.
document.addEventListener("visibilitychange", look);
connect();
