package handlers

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/listfacade/listfacade/selectors"
)

// What a request may say. kube-apiserver has no bounds but a MiB of headers; real clients stay far below these, and
// what is read here is kept, compared and sent on.
const (
	mostURL          = 64 << 10 // bytes
	mostParameters   = 100
	mostSelector     = 16 << 10 // bytes
	mostRequirements = 256      // of one selector
	mostValues       = 1000     // of all of them together
)

// fewest are the bytes that one requirement more than there may be takes at least, a letter and a comma each.
const fewest = 2*mostRequirements + 1

// withinBounds refuses what is too much to be read.
func withinBounds(uri string, u *url.URL) error {
	if len(uri) > mostURL {
		return errURITooLong
	}
	if strings.Count(u.RawQuery, "&") >= mostParameters {
		return badRequest(fmt.Sprintf("the request has more than %d query parameters", mostParameters))
	}
	if len(u.RawQuery) < fewest { // almost always
		return nil
	}
	return boundSelectors(u.Query())
}

// boundSelectors refuses selectors that are too much to be authorized and compared with every object.
func boundSelectors(query url.Values) error {
	for _, parameter := range []string{"labelSelector", "fieldSelector"} {
		for _, selector := range query[parameter] {
			if len(selector) > mostSelector {
				return badRequest(fmt.Sprintf("%s is longer than %d bytes", parameter, mostSelector))
			}
		}
		if requirements, values := sizeOf(parameter, query.Get(parameter)); requirements > mostRequirements || values > mostValues {
			return badRequest(fmt.Sprintf("%s has more than %d requirements or %d values", parameter, mostRequirements, mostValues))
		}
	}
	return nil
}

// sizeOf counts what a selector requires; nothing of one that does not parse, which is refused in other words.
func sizeOf(parameter, selector string) (requirements, values int) {
	if parameter == "fieldSelector" {
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

// upgrades tells a request to speak another protocol over the connection. None is spoken but a watch's websocket: what
// stands behind an upgrade is read by nobody who checks it.
func upgrades(header http.Header) bool { return len(header.Values("Upgrade")) > 0 }

// overWebsocket tells a watch of which a client wants the events as messages (semantics 4.7), whether it says so in a
// way that is understood or not.
func (q *Request) overWebsocket() bool {
	return q.isWatch() && strings.EqualFold(q.header.Get("Upgrade"), "websocket")
}

// errUpgrade refuses a connection that would be none of HTTP.
var errUpgrade = badRequest("the connection cannot be upgraded: only a watch is served over a websocket")
