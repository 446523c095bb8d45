package main

import (
	"context"
	"io"
	"time"

	"github.com/listfacade/listfacade/bench/internal/dataset"
)

// tableType is what kubectl get asks for.
const tableType = "application/json;as=Table;v=v1;g=meta.k8s.io"

// questions are the lists that are measured. All but the last may be answered from memory (resourceVersion=0), so that
// neither server asks another one. There, kube-apiserver does not care for a limit.
func questions(pods dataset.Spec) []question {
	all := "/api/v1/pods?resourceVersion=0"
	node := all + "&fieldSelector=spec.nodeName%3D" + pods.Node(42)
	namespace := "/api/v1/namespaces/" + pods.Namespace(7) + "/pods?resourceVersion=0"
	return []question{
		{name: "LIST all pods", path: all, encoding: "identity", protocol: http2},
		{name: "LIST all pods", path: all, encoding: "identity", protocol: http1},
		{name: "LIST all pods", path: all, encoding: "gzip", protocol: http2},
		{name: "LIST the pods of a namespace", path: namespace, encoding: "gzip", protocol: http2},
		{name: "LIST the pods of a node", path: node, encoding: "identity", protocol: http2},
		{name: "LIST the pods of a node", path: node, encoding: "gzip", protocol: http2},
		{name: "LIST all pods as a Table", path: all, accept: tableType, encoding: "gzip", protocol: http2},
		{name: "LIST 500 pods as a Table, most recent", path: "/api/v1/pods?limit=500", accept: tableType,
			encoding: "gzip", protocol: http2, asks: true},
	}
}

// cost is what one answer took, on average over a block of equal questions.
type cost struct {
	cpu    time.Duration // of the server that was asked
	behind time.Duration // of kube-apiserver, when the facade was asked
	wall   time.Duration // until the last byte, the client's own work included
	bytes  int64         // of the body, as sent
}

// costs are the blocks of both servers for one question.
type costs struct {
	direct, facade []cost
}

// compare measures in the order A B B A, so that whatever drifts while it goes on meets both alike. One block of each
// before that is the warm-up.
func compare(ctx context.Context, servers pair, q question, rounds int) (costs, error) {
	var c costs
	a, b := servers.direct, servers.facade
	for _, s := range []*server{a, b} {
		if _, err := servers.block(ctx, s, q); err != nil {
			return c, err
		}
	}
	for range rounds {
		for _, s := range []*server{a, b, b, a} {
			one, err := servers.block(ctx, s, q)
			if err != nil {
				return c, err
			}
			if s == a {
				c.direct = append(c.direct, one)
			} else {
				c.facade = append(c.facade, one)
			}
		}
	}
	return c, nil
}

// blockAtLeast is the shortest block: long enough for what a server does in the background not to matter.
const blockAtLeast = time.Second

// block asks one server the same again and again, one question after the other, and at least once.
func (p pair) block(ctx context.Context, asked *server, q question) (cost, error) {
	direct, facade, err := p.cpu()
	if err != nil {
		return cost{}, err
	}
	var n, total int64
	start := time.Now()
	for n == 0 || time.Since(start) < blockAtLeast {
		_, bytes, err := asked.get(ctx, q, io.Discard)
		if err != nil {
			return cost{}, err
		}
		n, total = n+1, total+bytes
	}
	c := cost{wall: time.Since(start) / time.Duration(n), bytes: total / n}
	directAfter, facadeAfter, err := p.cpu()
	c.cpu = (directAfter - direct) / time.Duration(n)
	if asked == p.facade {
		c.cpu, c.behind = (facadeAfter-facade)/time.Duration(n), c.cpu
	}
	return c, err
}

// cpu is the processor time of both so far.
func (p pair) cpu() (direct, facade time.Duration, err error) {
	if direct, err = p.direct.process.CPU(); err != nil {
		return 0, 0, err
	}
	facade, err = p.facade.process.CPU()
	return direct, facade, err
}
