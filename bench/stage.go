package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/listfacade/listfacade/internal/testkit"
)

// pair is the two servers that are compared. They have the same data.
type pair struct {
	direct *server // kube-apiserver
	facade *server
}

// stage contains the running processes of a benchmark, and the options.
type stage struct {
	pair
	options     options
	dir         string // for binaries, certificates and recorded responses
	cluster     *testkit.Cluster
	files       *fileServer
	process     *facade
	same        map[asked]bool // questions to which both servers have sent equal responses
	directStart startCost
	facadeStart startCost
}

// setUp starts all servers. It writes their files into dir.
func setUp(ctx context.Context, dir string, o options) (_ *stage, err error) {
	s := &stage{options: o, same: map[asked]bool{}}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	optimized := fmt.Sprintf("--optimized=%t", o.optimized)
	audited, err := auditFlags(dir, o.only)
	if err != nil {
		return nil, err
	}
	if s.cluster, err = testkit.StartCluster(ctx, append(audited, "--components=none", optimized)...); err != nil {
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
		s.process = nil // startFacade has stopped it
		return nil, err
	}
	s.facade = s.process.server
	s.files, err = startFileServer(ctx, dir)
	return s, err
}

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
