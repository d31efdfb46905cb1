/// The page for the browser: a timeline that is drawn again with each event.
let page = """
  <!doctype html>
  <meta charset="utf-8">
  <title>Timeline</title>
  <style>
    body { font: 16px/1.5 system-ui; max-width: 40rem; margin: 2rem auto; padding: 0 1rem; }
    li { margin: .75rem 0; } button { font: inherit; } small { color: #666; }
  </style>
  <h1 id="owner">Timeline</h1>
  <p><small id="age"></small></p>
  <ol id="moments"></ol>
  <script>
    const user = new URLSearchParams(location.search).get("user") ?? "0";
    const draw = ({ owner, age, moments }) => {
      document.getElementById("owner").textContent = owner;
      document.getElementById("age").textContent = `as of ${Math.round(age)} s ago`;
      document.getElementById("moments").replaceChildren(...moments.map(moment => {
        const item = document.createElement("li"), heart = document.createElement("button");
        const mine = moment.likes.some(liker => liker.id === user);
        heart.textContent = `${mine ? "♥" : "♡"} ${moment.likes.length}`;
        heart.onclick = () => fetch(`/timelines/${user}/likes/${moment.id}`, { method: mine ? "DELETE" : "PUT" });
        item.append(moment.userDetails.name + ": " + (moment.title ?? moment.url ?? "photos") + " ", heart);
        return item;
      }));
    };
    const follow = async () => {
      await fetch(`/login?user=${encodeURIComponent(user)}`, { method: "POST" });
      const events = new EventSource(`/timelines/${encodeURIComponent(user)}/events`);
      events.onmessage = event => draw(JSON.parse(event.data));
    };
    follow();
  </script>
  """
