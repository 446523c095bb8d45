package handlers

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/listfacade/listfacade/selectors"
)

// Limits of one request. kube-apiserver limits only headers, to 1 MiB. Real clients stay far below these limits.
const (
	maxURL          = 64 << 10 // bytes
	maxParameters   = 100
	maxSelector     = 16 << 10 // bytes
	maxRequirements = 256      // in one selector
	maxValues       = 1000     // in one selector, of all requirements together
)

// shortestExcess is the length in bytes of the shortest selector with too many requirements: a letter and a comma for
// each.
const shortestExcess = 2*maxRequirements + 1

func withinBounds(uri string, u *url.URL) error {
	if len(uri) > maxURL {
		return errURITooLong
	}
	if strings.Count(u.RawQuery, "&") >= maxParameters {
		return badRequest(fmt.Sprintf("the request has more than %d query parameters", maxParameters))
	}
	if len(u.RawQuery) < shortestExcess { // the usual case
		return nil
	}
	return boundSelectors(u.Query())
}

// boundSelectors refuses selectors that are too costly to authorize and to compare with every object.
func boundSelectors(query url.Values) error {
	for _, parameter := range []string{"labelSelector", "fieldSelector", "shardSelector"} {
		for _, selector := range query[parameter] {
			if len(selector) > maxSelector {
				return badRequest(fmt.Sprintf("%s is longer than %d bytes", parameter, maxSelector))
			}
		}
		if requirements, values := sizeOf(parameter, query.Get(parameter)); requirements > maxRequirements ||
			values > maxValues {
			return badRequest(fmt.Sprintf("%s has more than %d requirements or %d values", parameter, maxRequirements,
				maxValues))
		}
	}
	return nil
}

// sizeOf counts the requirements and values of a selector. For a selector that does not parse it returns 0, because
// such a selector is refused later with another message. For shards it returns 0, because maxSelector bytes can name at
// most 218 shards.
func sizeOf(parameter, selector string) (requirements, values int) {
	switch parameter {
	case "shardSelector":
		return 0, 0
	case "fieldSelector":
		if fields, err := selectors.ParseFields(selector); err == nil {
			requirements = len(fields.Requirements())
		}
		return requirements, requirements
	}
	labels, err := selectors.ParseLabels(selector)
	if err != nil {
		return 0, 0
	}
	required, _ := labels.Requirements()
	for _, r := range required {
		values += r.Values().Len()
	}
	return len(required), values
}

// upgrades reports whether a request has an Upgrade header. Only a watch over a websocket may have it. After any other
// upgrade, the facade could not check the bytes on the connection.
func upgrades(header http.Header) bool { return len(header.Values("Upgrade")) > 0 }

// overWebsocket reports whether a client wants the events of a watch as websocket messages (semantics 4.7). The rest of
// the handshake may be invalid.
func (q *Request) overWebsocket() bool {
	return q.isWatch() && strings.EqualFold(q.header.Get("Upgrade"), "websocket")
}

var errUpgrade = badRequest("the connection cannot be upgraded: only a watch is served over a websocket")
