package main

import (
	"context"

	"github.com/listfacade/listfacade/bench/internal/dataset"
)

// tableType is what kubectl get asks for.
const tableType = "application/json;as=Table;v=v1;g=meta.k8s.io"

// questions are the lists that are measured. All may be answered from memory (resourceVersion=0), so that neither server asks
// another one.
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
		{name: "LIST 500 pods as a Table", path: all + "&limit=500", accept: tableType, encoding: "gzip", protocol: http2},
	}
}

// costs are the blocks of both servers for one question.
type costs struct {
	direct, facade []cost
}

// compare measures in the order A B B A, so that whatever drifts while it goes on meets both alike. One answer of each
// before that is the warm-up.
func compare(ctx context.Context, servers pair, q question, rounds int) (costs, error) {
	var c costs
	a, b := servers.direct, servers.facade
	for _, s := range []*server{a, b} {
		if _, err := s.block(ctx, q); err != nil {
			return c, err
		}
	}
	for range rounds {
		for _, s := range []*server{a, b, b, a} {
			one, err := s.block(ctx, q)
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
