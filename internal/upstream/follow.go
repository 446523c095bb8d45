package upstream

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/listfacade/listfacade/internal/wire"
)

const (
	followLimit = 64 << 20 // maximum size of a list, in bytes
	// followSilence is how long a watch may receive nothing. Bookmarks arrive once a minute.
	followSilence = 150 * time.Second
	// followSettled is the minimum duration of an attempt that resets the pauses.
	followSettled = 5 * time.Second
	// followRefused is the pause after a refused list or watch. A refusal lasts until permissions change.
	followRefused = 10 * time.Minute
	// followLook is the interval at which a pause checks whether an outage has ended. followSpread is the maximum random
	// delay after the end of the outage.
	followLook   = time.Second
	followSpread = 2 * time.Second
)

// Followed is a resource whose objects and changes are all read. The goroutine of Follow calls its functions.
type Followed struct {
	Path        string
	List, Watch string // media types of the list and of the watch
	// Listed receives all existing objects. If it returns an error, the objects are listed again instead of watched.
	Listed func(objects []json.RawMessage) error
	// Changed receives an object that was added, modified or deleted.
	Changed func(event string, object json.RawMessage)
	// Failed receives an error when the objects cannot be followed, and nil when the watch is open.
	Failed func(err error)
}

// Follow lists and watches until the context ends. After each watch it lists again, because the next watch may reach
// another server with another history.
func (c *Client) Follow(ctx context.Context, f Followed) {
	for pause := newFollowPause(); ctx.Err() == nil; {
		began := time.Now()
		version, err := c.followList(ctx, f)
		if err == nil {
			err = c.followWatch(ctx, f, version)
		}
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > followSettled {
			pause = newFollowPause()
		}
		if !errors.Is(err, io.EOF) && !HasCode(err, http.StatusGone) {
			f.Failed(err)
		}
		if HasCode(err, http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed) {
			_ = c.followSleep(ctx, followRefused+rand.N(time.Minute))
		} else if c.followSleep(ctx, pause.Step()) {
			pause = newFollowPause()
		}
	}
}

// followSleep waits for the next attempt. cut is true if followSleep shortened the wait because an outage ended.
func (c *Client) followSleep(ctx context.Context, pause time.Duration) (cut bool) {
	timer, look := time.NewTimer(pause), time.NewTicker(followLook)
	defer timer.Stop()
	defer look.Stop()
	for silent := c.Silent() > 0; ; {
		select {
		case <-timer.C:
			return cut
		case <-ctx.Done():
			return cut
		case <-look.C:
			answered := c.Silent() == 0
			if silent && answered && !cut {
				cut = true
				timer.Reset(rand.N(followSpread))
			}
			silent = !answered
		}
	}
}

// newFollowPause returns pauses from 100 ms, doubled up to 30 s, each extended by up to 100 % jitter.
func newFollowPause() *wait.Backoff {
	return &wait.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Jitter: 1, Steps: 1 << 30, Cap: 30 * time.Second}
}

func (c *Client) followList(ctx context.Context, f Followed) (string, error) {
	body, err := c.Get(ctx, Target{Path: f.Path}, f.List, followLimit)
	if err != nil {
		return "", err
	}
	var list struct {
		Kind     string
		Metadata struct{ ResourceVersion string }
		Items    []json.RawMessage
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return "", fmt.Errorf("read %s: %w", f.Path, err)
	}
	if list.Metadata.ResourceVersion == "" {
		return "", fmt.Errorf("read %s: the %s has no resourceVersion", f.Path, list.Kind)
	}
	return list.Metadata.ResourceVersion, f.Listed(list.Items)
}

func (c *Client) followWatch(ctx context.Context, f Followed, version string) error {
	query := url.Values{
		"watch": {"1"}, "allowWatchBookmarks": {"true"}, "resourceVersion": {version},
		"timeoutSeconds": {strconv.Itoa(300 + rand.IntN(300))},
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silent := time.AfterFunc(followSilence, func() { cancel(io.EOF) })
	defer silent.Stop()
	response, err := c.Open(ctx, Target{Path: f.Path, Query: query}, f.Watch)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	f.Failed(nil)
	for frames := (wire.Lines{}).Reader(response.Body, wire.FrameLimit); ; {
		frame, err := frames.Next()
		if err == nil {
			silent.Reset(followSilence)
			err = f.read(frame)
		}
		if err != nil {
			return cmp.Or(context.Cause(ctx), err)
		}
	}
}

func (f Followed) read(frame []byte) error {
	var event struct {
		Type   string
		Object json.RawMessage
	}
	if err := json.Unmarshal(frame, &event); err != nil {
		return fmt.Errorf("read an event of %s: %w", f.Path, err)
	}
	switch event.Type {
	case "ADDED", "MODIFIED", "DELETED":
		f.Changed(event.Type, event.Object)
	case "ERROR":
		var status struct{ Code int }
		if err := json.Unmarshal(event.Object, &status); err != nil {
			return fmt.Errorf("read an event of %s: %w", f.Path, err)
		}
		return &StatusError{Code: status.Code, Header: http.Header{}, Body: event.Object}
	}
	return nil
}
