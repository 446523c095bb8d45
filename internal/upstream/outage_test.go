package upstream

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// roundTrip answers as a test wants.
type roundTrip func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func answers(*http.Request) (*http.Response, error) { return &http.Response{StatusCode: 503}, nil }

func breaks(*http.Request) (*http.Response, error) { return nil, errors.New("connection reset") }

func hangs(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// An outage begins with the first question that is not answered, and ends with any answer. Who leaves is no outage, nor
// who has no time.
func TestOutage(t *testing.T) {
	for name, c := range map[string]struct {
		transport roundTrip
		patience  time.Duration // of who asks; 0 is all of it
		leaves    bool          // he does not wait for the end of it
		want      time.Duration // a minute later
	}{
		"answered":      {transport: answers},
		"broken off":    {transport: breaks, want: time.Minute},
		"hanging":       {transport: hangs, patience: 5 * time.Second, want: time.Minute + 5*time.Second},
		"not waited":    {transport: hangs, patience: fairWait / 2},
		"left alone":    {transport: hangs, patience: 5 * time.Second, leaves: true},
		"cut as broken": {transport: breaks, patience: 5 * time.Second, want: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				clock := &outage{}
				ask := func(transport roundTrip) {
					ctx, cancel := context.WithCancel(t.Context())
					if c.patience > 0 {
						ctx, cancel = context.WithTimeout(ctx, c.patience)
					}
					defer cancel()
					if c.leaves {
						time.AfterFunc(c.patience/2, cancel)
					}
					request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://upstream.test", nil)
					if err != nil {
						t.Fatal(err)
					}
					_, _ = listeningTransport{RoundTripper: transport, outage: clock}.RoundTrip(request)
				}
				ask(c.transport)
				<-time.After(time.Minute)
				if got := clock.lasted(); got != c.want {
					t.Errorf("it has lasted %s, want %s", got, c.want)
				}
				ask(breaks) // another that is not answered begins no other outage
				if got := clock.lasted(); got < c.want {
					t.Errorf("after another question: %s", got)
				}
				ask(answers)
				if got := clock.lasted(); got != 0 {
					t.Errorf("after an answer: %s", got)
				}
			})
		})
	}
}

// What was asked before the last answer came, and is given up later, was slow and no outage.
func TestSlowQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := &outage{}
		asked := time.Now()
		<-time.After(10 * time.Second)
		clock.heard()
		<-time.After(10 * time.Second)
		if clock.silent(asked); clock.lasted() != 0 {
			t.Errorf("it has lasted %s", clock.lasted())
		}
	})
}
