package testkit

import (
	"context"
	"fmt"
	"net/http"
)

// Dozen is a load of twelve clients of different kinds: pollers, informers, controllers, and clients that a facade
// cannot serve. The same script runs once against kube-apiserver alone, and once with the reads at a facade.
type Dozen struct {
	Namespace string // of the clients and their objects; created by Prepare
	Resource  string // core resource that most clients read, such as pods
	Label     string // label selector of a part of the resource
	Field     string // field selector of a small part of the resource, escaped for a URL
}

// ScriptedClient is one client of a Dozen.
type ScriptedClient struct {
	Program     string
	Certificate bool // it has a client certificate instead of a token
	Requests    []ScriptedRequest
}

// ScriptedRequest is a request that the client sends in each round. The client opens a watch once, and the watch lasts
// until the end of the run.
type ScriptedRequest struct {
	Method, Path, Accept, Body string
	Times                      int // per round; 0 means 1
}

func (r *ScriptedRequest) isRead() bool { return r.Method == http.MethodGet }

const (
	scriptedJSON  = "application/json"
	scriptedProto = "application/vnd.kubernetes.protobuf"
	scriptedTable = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
	scriptedPatch = "application/merge-patch+json"
)

// Clients returns the twelve clients with their requests.
func (d Dozen) Clients() []ScriptedClient {
	all, mine := "/api/v1/"+d.Resource, "/api/v1/namespaces/"+d.Namespace
	lease := "/apis/coordination.k8s.io/v1/namespaces/" + d.Namespace + "/leases/dozen"
	read := func(path string, times int) ScriptedRequest {
		return ScriptedRequest{Method: http.MethodGet, Path: path, Accept: scriptedJSON, Times: times}
	}
	as := func(r ScriptedRequest, accept string) ScriptedRequest { r.Accept = accept; return r }
	patch := func(path, body string) ScriptedRequest {
		return ScriptedRequest{Method: http.MethodPatch, Path: path, Accept: scriptedJSON, Body: body, Times: 2}
	}
	const fromCache = "?resourceVersion=0"
	return []ScriptedClient{
		{Program: "poller", Requests: []ScriptedRequest{read(all+fromCache, 3)}},
		{Program: "dashboard", Requests: []ScriptedRequest{read(all, 1)}},
		{Program: "kubectl", Requests: []ScriptedRequest{as(read(all+"?limit=500", 2), scriptedTable)}},
		{Program: "kube-state-metrics", Requests: []ScriptedRequest{
			as(read(all+fromCache, 1), scriptedProto), as(read(all+"?watch=true&resourceVersion=0", 1), scriptedProto)}},
		{Program: "controller", Requests: []ScriptedRequest{
			read("/api/v1/configmaps?watch=true&resourceVersion=0", 1), patch(mine+"/configmaps/dozen", `{"data":{"by":"controller %d"}}`)}},
		{Program: "agent", Requests: []ScriptedRequest{read(all+fromCache+"&fieldSelector="+d.Field, 5)}},
		{Program: "operator", Requests: []ScriptedRequest{read(all+fromCache+"&labelSelector="+d.Label, 2)}},
		{Program: "reporter", Requests: []ScriptedRequest{read(mine+"/configmaps"+fromCache, 4)}},
		{Program: "getter", Requests: []ScriptedRequest{read(mine+"/configmaps/dozen"+fromCache, 10)}},
		{Program: "vault", Requests: []ScriptedRequest{read(mine+"/secrets/dozen", 2), read(mine+"/secrets", 1)}},
		{Program: "elector", Requests: []ScriptedRequest{
			read(lease, 2), patch(lease, `{"spec":{"holderIdentity":"elector %d"}}`)}},
		{Program: "backup", Certificate: true, Requests: []ScriptedRequest{
			read("/api/v1/secrets?limit=10", 1), read(all+fromCache, 1), read(mine+"/configmaps/dozen"+fromCache, 3)}},
	}
}

func (d Dozen) account(i int) string { return fmt.Sprintf("dozen-%d", i) }

// Doing counts the requests of one run of a Dozen.
type Doing struct {
	Sent    int            // requests, watches included
	Refused map[string]int // responses of 400 and above, by program
}

// Do runs the script for a number of rounds. Each client has one goroutine, and one more for each of its watches. reads
// is the server of reads, kube-apiserver or a facade; writes is the server of writes.
func (d Dozen) Do(ctx context.Context, rounds int, reads, writes *DozenServer) (*Doing, error) {
	return newDozenRun(d, rounds, reads, writes).run(ctx)
}
