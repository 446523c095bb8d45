package upstream

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/listfacade/listfacade/internal/testkit/bubble"
)

// roundTrip is a transport made of a function.
type roundTrip func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func answers(*http.Request) (*http.Response, error) { return &http.Response{StatusCode: 503}, nil }

func breaks(*http.Request) (*http.Response, error) { return nil, errors.New("connection reset") }

func hangs(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// An outage begins with the first unanswered request and ends with any response. A caller that leaves, or has too
// little time, causes no outage.
func TestOutage(t *testing.T) {
	for name, c := range map[string]struct {
		transport roundTrip
		patience  time.Duration // the caller's timeout; 0 is none
		leaves    bool          // the caller cancels before the end
		want      time.Duration // duration of the outage a minute later
	}{
		"answered":                   {transport: answers},
		"broken off":                 {transport: breaks, want: time.Minute},
		"hanging":                    {transport: hangs, patience: 5 * time.Second, want: time.Minute + 5*time.Second},
		"too short a timeout":        {transport: hangs, patience: fairWait / 2},
		"cancelled":                  {transport: hangs, patience: 5 * time.Second, leaves: true},
		"broken off, with a timeout": {transport: breaks, patience: 5 * time.Second, want: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
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
					_, _ = outageTransport{RoundTripper: transport, outage: clock}.RoundTrip(request)
				}
				ask(c.transport)
				<-time.After(time.Minute)
				if got := clock.lasted(); got != c.want {
					t.Errorf("got an outage of %s, want %s", got, c.want)
				}
				ask(breaks) // another unanswered request begins no other outage
				if got := clock.lasted(); got < c.want {
					t.Errorf("got %s after another request", got)
				}
				ask(answers)
				if got := clock.lasted(); got != 0 {
					t.Errorf("got %s after a response", got)
				}
			})
		})
	}
}

// A request sent before the last response and abandoned later was slow, and is no sign of an outage.
func TestSlowRequestIsNoOutage(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		clock := &outage{}
		asked := time.Now()
		<-time.After(10 * time.Second)
		clock.recordAnswer()
		<-time.After(10 * time.Second)
		if clock.recordSilence(asked); clock.lasted() != 0 {
			t.Errorf("got an outage of %s, want none", clock.lasted())
		}
	})
}
