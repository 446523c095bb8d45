package reflector

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/fresh"
	"github.com/listfacade/listfacade/internal/upstream"
	"github.com/listfacade/listfacade/internal/wire"
)

// mediaPartial is the media type of account watches. Metadata in protobuf costs the upstream least.
const mediaPartial = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"

// accountRefused is the minimum pause after the upstream refused an account watch.
const accountRefused = 10 * time.Minute

// accountWatch receives the resourceVersions of one resource. It does not store objects.
type accountWatch struct {
	client       *upstream.Client
	resource     upstream.Resource
	source       source
	subscription *fresh.Subscription
	opening      chan struct{}
	last         cache.RV // last version received; 0 if the next watch begins at the upstream's current version
}

// run watches until the context ends. If a watch did not end at its timeout, the next watch begins at the upstream's
// current version. A server with another history may have replaced the upstream.
func (a *accountWatch) run(ctx context.Context) {
	defer a.subscription.Interrupted()
	pause := newBackoff(a.client.Silent)
	for ctx.Err() == nil {
		uptime, err := a.watch(ctx)
		if err == nil {
			continue
		}
		a.subscription.Interrupted()
		a.last = 0
		pause.noteUptime(uptime)
		atLeast := retryAfter(err)
		if errors.Is(err, fresh.ErrUnsupported) || upstream.HasCode(err, http.StatusForbidden, http.StatusNotFound,
			http.StatusMethodNotAllowed, http.StatusNotAcceptable) {
			atLeast = accountRefused
		}
		pause.sleep(ctx, atLeast)
	}
}

// watch reads one watch to its end. It returns how long the watch was open, and a nil error if it ended at its timeout.
func (a *accountWatch) watch(ctx context.Context) (uptime time.Duration, err error) {
	select {
	case a.opening <- struct{}{}:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	seconds := 300 + rand.IntN(300) // as for the watches of lanes
	until := time.Now().Add(time.Duration(seconds) * time.Second)
	ctx, cancel := context.WithDeadline(ctx, until.Add(lateEnd))
	defer cancel()
	body, err := a.open(ctx, seconds)
	<-a.opening
	if err != nil {
		return 0, err
	}
	defer body.Close()
	opened := time.Now()
	for frames := (wire.Prefixed{}).Reader(body, wire.FrameLimit); err == nil; {
		err = a.next(frames)
	}
	if errors.Is(err, io.EOF) && time.Until(until) < earlyEnd {
		err = nil
	}
	return time.Since(opened), err
}

func (a *accountWatch) open(ctx context.Context, seconds int) (io.ReadCloser, error) {
	if a.last == 0 {
		now, err := a.source.ResourceVersion(ctx)
		if err != nil {
			return nil, err
		}
		a.last = now
	}
	query := watchQuery(a.last)
	query.Set("timeoutSeconds", strconv.Itoa(seconds))
	response, err := a.client.Open(ctx, upstream.Target{Path: a.resource.Path(""), Query: query}, mediaPartial)
	if err != nil {
		return nil, err
	}
	return response.Body, nil
}

func (a *accountWatch) next(frames wire.FrameReader) error {
	raw, err := frames.Next()
	if err != nil {
		return err
	}
	event, rv, err := readReceived(raw)
	switch {
	case err != nil:
		return err
	case rv < a.last:
		return fmt.Errorf("read account watch frame: resourceVersion decreased from %d to %d", a.last, rv)
	}
	a.last = rv
	switch event {
	case wire.TypeBookmark:
	case wire.TypeAdded, wire.TypeModified, wire.TypeDeleted:
		a.subscription.Received(rv)
	default:
		return fmt.Errorf("read account watch frame: unknown event type %q", event)
	}
	return nil
}

// readReceived reads a frame. For an ERROR frame, it returns the error.
func readReceived(frame []byte) (event string, rv cache.RV, err error) {
	var read metav1.WatchEvent
	var envelope runtime.Unknown
	var object metav1.PartialObjectMetadata
	if err := read.Unmarshal(frame); err != nil {
		return "", 0, fmt.Errorf("read account watch frame: %w", err)
	}
	enveloped, ok := bytes.CutPrefix(read.Object.Raw, []byte(protobufMagic))
	if !ok {
		return "", 0, errors.New("read account watch frame: object is not protobuf")
	}
	if err := envelope.Unmarshal(enveloped); err != nil {
		return "", 0, fmt.Errorf("read account watch frame: %w", err)
	}
	if read.Type == wire.TypeError {
		return "", 0, readFailure(envelope.Raw)
	}
	if err := object.Unmarshal(envelope.Raw); err != nil {
		return "", 0, fmt.Errorf("read account watch frame: %w", err)
	}
	rv, err = cache.ParseRV(object.ResourceVersion)
	if err == nil && rv == 0 {
		err = errors.New("read account watch frame: object has no resourceVersion")
	}
	return read.Type, rv, err
}

func readFailure(raw []byte) error {
	var failure metav1.Status
	if err := failure.Unmarshal(raw); err != nil {
		return fmt.Errorf("read account watch error: %w", err)
	}
	return statusOf(&wire.Failure{Code: int(failure.Code), Status: []byte(failure.Message)})
}
