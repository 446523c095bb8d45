package handlers

import (
	"net/http"
	"testing"
)

// Only pages of the same host may read. A browser lets a page open a websocket to any host, and sends the page's
// origin.
func TestSocketOrigins(t *testing.T) {
	inBubble(t, func(t *testing.T, f *facade) {
		f.Put("ns/a", "1")
		f.get(t, reads[0])
		const path = "/api/v1/namespaces/ns/configmaps?watch=1&timeoutSeconds=1&resourceVersion=0"
		// From the cache, and forwarded.
		for _, accept := range []string{"application/json", passedThrough} {
			for origin, want := range map[string]int{
				"http://facade.test": http.StatusSwitchingProtocols, "https://FACADE.test": http.StatusSwitchingProtocols,
				"": http.StatusForbidden, "null": http.StatusForbidden, "https://evil.example": http.StatusForbidden,
				"https://facade.test.evil.example": http.StatusForbidden, "https://facade.test:8443": http.StatusForbidden,
				"https://facade.test@evil.example": http.StatusForbidden, "facade.test": http.StatusForbidden, "file://": http.StatusForbidden,
			} {
				request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://facade.test"+path, nil)
				if err != nil {
					t.Fatal(err)
				}
				request.Header = http.Header{
					"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Version": {"13"}, "Sec-Websocket-Key": {"dGhlIHNhbXBsZSBub25jZQ=="},
					"Accept": {accept},
				}
				if origin != "" {
					request.Header.Set("Origin", origin)
				}
				response, err := f.client.Do(request)
				if err != nil {
					t.Fatal(err)
				}
				_ = response.Body.Close()
				if response.StatusCode != want {
					t.Errorf("%s from %q: got %d, want %d", accept, origin, response.StatusCode, want)
				}
				if e := f.events.last(); e.Code != want {
					t.Errorf("%s from %q: got %d in the event, want %d", accept, origin, e.Code, want)
				}
			}
		}
	})
}
