import HTTPClientCore
import Networking
import SocketHTTP

/// The command's help text and version.
enum Help {
  static let version = "moments \(HTTPHeaders.sdkVersion)\n"

  static let text = """
    Shows a user's timeline of moments, likes or unlikes moments, and posts photos.

    Usage:
      moments [timeline] [options]
      moments watch [--live NAME] [--count N] [--for SECONDS] [options]
      moments like MOMENT_ID [options]
      moments unlike MOMENT_ID [options]
      moments post-photo FILE [--title TEXT] [options]
      moments cache stats|clear --cache-dir DIR [options]
      moments outbox list|flush --cache-dir DIR [options]
      moments outbox discard|retry ID --cache-dir DIR [options]
      moments --help | --version

    Options:
      --user ID               whose timeline, or who likes or posts (default: 0)
      --endpoint URL          the GraphQL endpoint: https, or http on this machine
      --allow-cleartext       allow http to other machines, too: anybody on the way
                              can read what is sent
      --ca FILE               trust these certificates (PEM) besides the system's
      --cert FILE --key FILE  the client certificate, for servers that ask for one
      --transport NAME        socket (default); urlsession, if that was built in
      --http VERSION          1.1, or 2: with https if the server chooses it, with
                              http in any case (default: 2 with https alone)
      --cache-dir DIR         keep timelines there, and likes that could not be
                              sent, for each user and endpoint
      --policy NAME           where timelines come from; those from the server are
                              cached, except with noCache:
                                networkOnly, cacheAndNetwork, noCache: the server
                                networkFirst: the server, or the cache if that
                                fails (default with --cache-dir; without it,
                                networkOnly); the exit code is the failure's, but
                                0 instead of 69
                                cacheFirst: the cache, or the server if nothing
                                is cached
                                cacheOnly: the cache
      --live NAME             how 'watch' hears of likes: ws (default), by a
                              WebSocket; sse, by server-sent events; multipart
      --count N               'watch' ends after N timelines
      --for SECONDS           'watch' ends after this time, 0.001 to 86400
      --title TEXT            the text above the photo of 'post-photo'
      --json                  print the result as one JSON object; 'watch', one for
                              each timeline, on a line of its own
      --no-likes              leave the likes out
      --timeout SECONDS       the most time for all requests of the run, 0.001 to
                              86400 (default: 60 for each request); for 'watch',
                              the longest time without a live connection
                              (default: 60)
      --retries N             retry a timeline up to N times, 0 to 10, after a
                              transient failure (default: 2); with --cache-dir,
                              likes, too; without it, these are sent once
      --header 'Name: value'  send a header with each request; repeatable
      --verbose               print to standard error what is sent and received,
                              and how long it took
      -h, --help, --version   print this text, or the version

    'watch' shows the timeline, and again whenever likes change: in a terminal, it
    is redrawn in place; elsewhere, what has changed is printed. A connection that
    is lost is made again, and what was missed is fetched. It ends with 0 when the
    server ends the subscription, or when nobody reads its output any more.

    'post-photo' sends the file as it is, and shows the new moment. In a terminal,
    standard error shows how much is sent, the rate, and the time that is left. A
    photo is sent once: after an error, look at the timeline before trying again.

    A value may also follow '=', as in --user=ID. Nothing after -- is an option.

    'cache' and 'outbox' act on the data of one account: the user of --user at that
    endpoint.

    With --cache-dir, a like that cannot reach the server is queued. Runs with the
    same --user and endpoint show it in timelines, and send it once: before the next
    timeline from the server, before the next like, or by 'moments outbox flush'. A
    like is also queued if there is no valid token, or if the settings prevent
    sending; the exit code then says why. A like that the server refuses, or that
    can no longer be read, is set aside: 'moments outbox list' shows it with its id,
    'moments outbox discard' removes it, and 'moments outbox retry' queues a
    refused one again.

    Environment:
      MOMENTS_ENDPOINT  the endpoint if --endpoint is not given; without both, the
                        command uses built-in sample data, in which likes are lost
                        when the run ends
      MOMENTS_TOKEN     a bearer token for the endpoint
      MOMENTS_REFRESH_TOKEN
                        gets a new token, by the mutation refreshToken, when the
                        server no longer accepts the old one; for this run only
      http_proxy, https_proxy or HTTPS_PROXY
                        the proxies for other machines, with --transport socket
      no_proxy or NO_PROXY
                        hosts to reach without a proxy, as for curl
      NO_COLOR          no colours, if it is not empty
      COLUMNS           the width, if the output is not a terminal

    Exit codes:
      0    success; also if the server was not reached, and a like was queued or a
           cached timeline shown
      64   the command line or the environment is wrong
      65   the response cannot be used: GraphQL errors, not decodable, too large,
           or a status not listed here; or nothing is cached; or a like was
           discarded before it was sent, or can no longer be read
      69   the server was not reached: refused, cut off, timed out, redirected,
           not tried after repeated failures, status 429 or 5xx; or 'watch' was
           without a live connection for longer than --timeout
      74   the output could not be written, or the cache folder cannot be used
      77   not allowed: status 401 or 403, the GraphQL error UNAUTHENTICATED, or a
           WebSocket closed with 4401 or 4403
      129  ended by SIGHUP, as when the terminal is closed
      130  interrupted by Ctrl-C
      143  ended by SIGTERM

    """
}
