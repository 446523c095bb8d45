package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/listfacade/listfacade/bench/internal/agents"
)

// nodeScale describes watches of many nodes, one for each.
type nodeScale struct {
	watches       int // one for each node
	perConnection int
	pods          int
	updates       int           // per second
	lasts         time.Duration // duration of the updates before the cut, and again after it
	encoding      string        // of the watches, and of the facade's cache
}

// nodeEncodings are the encodings of watches by the names that the facade has for them.
var nodeEncodings = map[string]struct {
	agents agents.Encoding
	stamp  string // text before the stamp in an event
}{
	"json": {agents.JSON{}, stampBefore},
	// The key is followed by the tag and the length of the value. Each stamp of this century has 19 digits.
	"protobuf": {agents.Protobuf{}, stampKey + "\x12\x13"},
}

func (n *nodeScale) addFlags() {
	flag.IntVar(&n.watches, "node-watches", 0,
		"`number` of watches, one for each node; measure them in front of a simulated upstream instead of scenarios; 0: measure scenarios")
	flag.IntVar(&n.perConnection, "per-connection", 100, "number of -node-watches on an HTTP/2 connection, at most 100")
	flag.IntVar(&n.pods, "node-pods", 100_000, "number of pods with -node-watches, at least as many as watches")
	flag.IntVar(&n.updates, "updates", 1000, "number of changed pods per second with -node-watches")
	flag.DurationVar(&n.lasts, "updates-for", time.Minute,
		"time for which pods change with -node-watches, once before all connections are cut and once afterwards")
	flag.StringVar(&n.encoding, "encoding", "protobuf",
		"encoding of the -node-watches: protobuf, as kubelets request, or json")
}

// run measures and prints the figures.
func (n nodeScale) run(ctx context.Context, o options, w io.Writer) error {
	if n.perConnection < 1 || n.perConnection > 100 || n.updates < 1 || n.pods < max(n.watches, 1000) {
		return errors.New("1 to 100 watches to a connection, updates, and at least as many pods as watches are needed")
	}
	if _, ok := nodeEncodings[n.encoding]; !ok {
		return fmt.Errorf("-encoding %q: must be json or protobuf", n.encoding)
	}
	data := fmt.Sprintf("%d pods, %d watches of a node each in %s, %d to a connection, %d updates/s.", n.pods, n.watches,
		n.encoding, n.perConnection, n.updates)
	return alone(ctx, w, "watches of nodes", data, func(ctx context.Context, dir string, t *table) error {
		return n.measure(ctx, dir, o, t)
	})
}

// measure starts the servers and the clients, and runs the steps of the measurement.
func (n nodeScale) measure(ctx context.Context, dir string, o options, t *table) error {
	u, err := startUpstream(ctx, dir, n.pods, n.watches)
	if err != nil {
		return err
	}
	defer u.stop()
	// A caller stands for the agents of many nodes, so the flags raise the limits of a caller and of all watches. The
	// simulated upstream does not serve the pages of a self-audit.
	flags := slices.Concat([]string{
		"--preload", "pods", "--preload-encodings", n.encoding, "--goaway-chance", "0", "--self-audit-interval", "0",
		"--max-watches", strconv.Itoa(2 * n.watches), "--max-watches-per-user", strconv.Itoa(n.watches),
		"--watch-rate-per-user", "1000", "--authz-miss-rate", "1000",
	}, strings.Fields(o.flags))
	f, _, err := startAlone(ctx, dir, u, n.pods, flags...)
	if err != nil {
		return err
	}
	defer f.stop()
	r := &nodeRun{nodeScale: n, upstream: u, facade: f.server, table: t, profiles: o.profiles}
	if err := r.prepare(ctx); err != nil {
		return err
	}
	r.clients.Start(ctx)
	defer r.clients.Close()
	r.observer.Start(ctx)
	defer r.observer.Close()
	for _, step := range []func(context.Context) error{r.open, r.change, r.reconnect} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}
