package main

import (
	"context"
	"slices"
	"strings"

	"github.com/listfacade/listfacade/internal/testkit"
)

// pair is the two servers that are compared, with the same data.
type pair struct {
	direct *server // kube-apiserver
	facade *server
}

// stage is everything that runs while scenarios are measured.
type stage struct {
	pair
	options     options
	dir         string // of files
	cluster     *testkit.Cluster
	files       *fileServer
	process     *facade
	same        map[asked]bool // those whose answers were compared
	directStart startCost
	facadeStart startCost
}

// setUp starts all servers, with files in a directory.
func setUp(ctx context.Context, dir string, o options) (_ *stage, err error) {
	s := &stage{options: o, same: map[asked]bool{}}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	if s.cluster, err = testkit.StartCluster(ctx, "--components=none", "--optimized"); err != nil {
		return nil, err
	}
	if s.direct, s.directStart, err = startWithPods(ctx, s.cluster, o.pods); err != nil {
		return nil, err
	}
	if err = buildFacade(ctx, dir); err != nil {
		return nil, err
	}
	s.dir = dir
	flags := slices.Concat(highLimits, []string{"--preload", "pods"}, strings.Fields(o.flags))
	if s.process, s.facadeStart, err = startFacade(ctx, dir, s.cluster, s.direct, flags...); err != nil {
		s.process = nil // it is not left running
		return nil, err
	}
	s.facade = s.process.server
	s.files, err = startFileServer(ctx, dir)
	return s, err
}

// close stops everything that runs.
func (s *stage) close() {
	if s.files != nil {
		s.files.stop()
	}
	if s.process != nil {
		s.process.stop()
	}
	if s.cluster != nil {
		s.cluster.Close()
	}
}
