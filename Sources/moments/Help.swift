import HTTP
import Networking

/// What the command says of itself.
enum Help {
  static let version = "moments \(HTTPHeaders.sdkVersion)\n"

  static let text = """
    Shows a user's timeline of moments, and likes them.

    Usage:
      moments [timeline] [options]
      moments like MOMENT_ID [options]
      moments unlike MOMENT_ID [options]
      moments cache stats|clear --cache-dir DIR [options]
      moments outbox list|flush --cache-dir DIR [options]
      moments outbox drop|retry ID --cache-dir DIR [options]
      moments --help | --version

    Options:
      --user ID               whose timeline, or who likes (0 unless given)
      --endpoint URL          the GraphQL endpoint: https, or http on this machine
      --allow-cleartext       take http on other machines, too: anybody on the way
                              can read what is sent
      --ca FILE               trust these certificates (PEM) beside the system's
      --cert FILE --key FILE  show this certificate to a server that asks for one
      --transport NAME        socket (unless given) or urlsession
      --cache-dir DIR         keep timelines there, and likes that could not be
                              sent, for each user and endpoint
      --policy NAME           what is asked; answers are kept, but with noCache:
                                networkOnly, cacheAndNetwork, noCache: the server
                                networkFirst: the server, and the cache where that
                                fails (so with --cache-dir, else networkOnly); it
                                ends as the failure does, unless that is 69
                                cacheFirst: the server, where nothing is cached
                                cacheOnly: nobody
      --json                  print the answer, or what was done, as one JSON object
      --no-likes              leave the likes out
      --timeout SECONDS       give up after that time, 0.001 to 86400, in which all
                              is sent (else 60 for each request)
      --retries N             ask again for a timeline up to N times, 0 to 10, where
                              that failed in passing (else 2); likes, too, with
                              --cache-dir, else they are sent once
      --header 'Name: value'  send a header with each request; repeatable
      --verbose               tell on standard error what is sent and answered,
                              and how long it took
      --help, --version       print this text, or the version

    A value may also follow '=', as in --user=ID. After -- nothing is an option.

    'cache' and 'outbox' act on what is kept for one account: the user of --user at
    that endpoint.

    With --cache-dir, a like without a server is queued: runs of the same --user at
    the same endpoint show it in timelines, and send it, once, before the next
    timeline that asks the server, before the next like, or by 'moments outbox
    flush'. So is one without a valid token, or under settings that let nothing be
    sent; then the exit code tells why. One that the server refuses, or that cannot
    be read any more, is set aside: 'moments outbox list' shows it with its id,
    'moments outbox drop' takes it out, and 'moments outbox retry' queues one that
    was refused anew.

    Environment:
      MOMENTS_ENDPOINT  the endpoint where --endpoint is not given; without both,
                        sample data answer that come with the command, which
                        forget likes at the end of the run
      MOMENTS_TOKEN     a bearer token for the endpoint
      MOMENTS_REFRESH_TOKEN
                        gets another one when the server takes that no more, by
                        the mutation refreshToken; for this run alone
      http_proxy, https_proxy or HTTPS_PROXY
                        the proxies for other machines, by --transport socket
      no_proxy or NO_PROXY
                        hosts that are reached without, as for curl
      NO_COLOR          no colours, where it is not empty
      COLUMNS           the width, where the output is no terminal

    Exit codes:
      0    done; or a like is queued, or a cached timeline shown, since the
           server was not reached
      64   the command line or the environment is not right
      65   the answer cannot be used: GraphQL errors, not decodable, too large,
           or a status not named below; nothing is cached; or a like was dropped
           before it was sent, or cannot be read any more
      69   the server was not reached: refused, cut off, timed out, redirected,
           let alone after failures, status 429 or 5xx
      74   the output could not be written, or the cache folder not be used
      77   not allowed: status 401 or 403, or the GraphQL error UNAUTHENTICATED
      130  interrupted by Ctrl-C

    """
}
