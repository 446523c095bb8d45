package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/listfacade/listfacade/bench/internal/report"
)

const (
	shardCount   = 4
	shardWatches = 64 // in total
)

// shardSelector returns the selector of one of the shards, which divide the hashes of UIDs equally.
func shardSelector(shard int) string {
	const size = uint64(1) << 62 // number of hashes of a shard, of 2^64 in total
	end := "0x10000000000000000"
	if shard < shardCount-1 {
		end = fmt.Sprintf("0x%016x", uint64(shard+1)*size) //nolint:gosec // 0 to 3
	}
	return fmt.Sprintf("shardRange(object.metadata.uid, '0x%016x', '%s')", uint64(shard)*size, end) //nolint:gosec // 0 to 3
}

// measureShards adds the size of the lists of four shards, and the cost of an event with watches of shards and with as
// many watches of all pods. The pods have random UIDs, so with 20,000 of them the shards differ by one or two percent.
func measureShards(ctx context.Context, s *stage, t *table) error {
	f, err := s.withoutWatchLimits(ctx, "--shard-selectors", "always")
	if err != nil {
		return err
	}
	defer f.stop()
	if err := f.server.listShards(ctx, t); err != nil {
		return err
	}
	pods, err := names(ctx, s.direct, "/api/v1/pods")
	if err != nil {
		return err
	}
	for _, sharded := range []bool{false, true, true, false} { // the second run of each is warm
		if err := s.shardEvents(ctx, f.server, sharded, pods, t); err != nil {
			return err
		}
	}
	return nil
}

// listShards adds the bytes of each shard's list, relative to a quarter of the complete list.
func (s *server) listShards(ctx context.Context, t *table) error {
	const path = "/api/v1/pods?resourceVersion=0"
	bytesOf := func(query string) (int, error) {
		var b bytes.Buffer
		_, err := s.get(ctx, question{name: "LIST a shard", path: path + query, encoding: "identity", protocol: http2}, &b)
		return b.Len(), err
	}
	all, err := bytesOf("")
	if err != nil {
		return err
	}
	for shard := range shardCount {
		n, err := bytesOf("&shardSelector=" + url.QueryEscape(shardSelector(shard)))
		if err != nil {
			return err
		}
		t.add(fmt.Sprintf("LIST shard %d of %d: bytes, relative to a quarter of all", shard+1, shardCount), "",
			fmt.Sprintf("%.1f %%", 100*float64(n)*shardCount/float64(all)), "")
	}
	return nil
}

// shardEvents adds the facade's cost of an event while watches are open, and the number of watches that receive the
// event.
func (s *stage) shardEvents(ctx context.Context, of *server, sharded bool, pods []string, t *table) error {
	watching, stop := context.WithCancel(ctx)
	defer stop()
	group, watching := errgroup.WithContext(watching)
	all, err := of.watchShards(watching, group, sharded)
	if err != nil {
		stop()
		return errors.Join(err, group.Wait())
	}
	before, err := of.process.CPU()
	if err != nil {
		return err
	}
	sent, err := patch(watching, s.direct, pods, eventRate{s.options.eventsFor, journalEvery})
	switch {
	case err != nil:
	case sharded:
		err = all.await(watching, of, all.events, int64(sent)*shardWatches/shardCount)
	default:
		err = all.await(watching, of, all.least, int64(sent))
	}
	after, cpuErr := of.process.CPU()
	stop()
	if err := errors.Join(err, cpuErr, group.Wait()); err != nil {
		return err
	}
	what := fmt.Sprintf("an event, %d watches of all pods", shardWatches)
	if sharded {
		what = fmt.Sprintf("an event, %d watches of a shard each", shardWatches)
	}
	t.add(what+": CPU", "", report.Duration((after-before)/time.Duration(sent)), "")
	t.add(what+": watches that receive it", "", fmt.Sprintf("%.1f", float64(all.events())/float64(sent)), "")
	return nil
}

// watchShards opens watches of all pods, or of a shard each, in turn.
func (s *server) watchShards(ctx context.Context, group *errgroup.Group, sharded bool) (fanWatches, error) {
	q, err := s.watchFrom(ctx, "/api/v1/pods")
	if err != nil {
		return nil, err
	}
	var all fanWatches
	for i := range shardWatches {
		one := q
		if sharded {
			one.path += "&shardSelector=" + url.QueryEscape(shardSelector(i%shardCount))
		}
		w, err := s.watchOne(ctx, group, one)
		if err != nil {
			return nil, err
		}
		all = append(all, w)
	}
	return all, nil
}
