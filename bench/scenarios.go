package main

import (
	"context"
	"fmt"
	"time"

	"github.com/listfacade/listfacade/bench/internal/dataset"
	"github.com/listfacade/listfacade/bench/internal/report"
)

// Media types of questions.
const (
	jsonType     = "application/json"
	protobufType = "application/vnd.kubernetes.protobuf"
	tableType    = "application/json;as=Table;v=v1;g=meta.k8s.io" // media type of kubectl get
	metadataType = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
)

// startsAbout is the expected time until both servers are running with all pods.
const startsAbout = 60 * time.Second

// scenarios returns all scenarios in the order of measurement: memory first, before lists leave garbage behind, and
// scenarios with writes last.
func scenarios(pods dataset.Spec) []scenario {
	all := []scenario{
		{name: "starts", title: "start", about: 40 * time.Second, measure: inRows(measureStarts)},
		{name: "memory", title: "memory", about: 40 * time.Second, measure: inRows(memoryAfterCollection)},
		{name: "watch-memory", title: "idle watches", about: 10 * time.Second, measure: inRows(measureWatches)},
	}
	node, pod := nodePath(pods), podPath(pods)
	all = append(all, wholeLists()...)
	all = append(all, parts(pods, node, pod)...)
	all = append(all, concurrent(node, pod)...)
	all = append(all, herds()...)
	all = append(all,
		scenario{name: "watch-events", title: fmt.Sprintf("%d watches of all pods, an event", fanOutWatches),
			about: 40 * time.Second,
			by:    report.CPU, must: 3, aim: 6, measure: measureFanOut},
		scenario{name: "delays", title: "delay of events", about: 35 * time.Second, measure: inRows(measureDelays)},
		scenario{name: "company", title: "reads of small kinds", about: 90 * time.Second, measure: inRows(measureCompanies)},
		scenario{name: "freshness", title: "reads of one's own writes", about: 110 * time.Second,
			measure: inRows(measureFreshness)},
	)
	return append(all, apart()...)
}

// apart returns the scenarios that are measured only when they are named. Most are about authentication, authorization
// and many watches.
func apart() []scenario {
	one := func(name, title string, about time.Duration, measure func(context.Context, *stage, *table) error) scenario {
		return scenario{name: name, title: title, about: about, apart: true, measure: inRows(measure)}
	}
	return []scenario{
		one("many-watches", "many watches", 300*time.Second, measureManyWatches),
		one("open-watches", "opening 10,000 watches", 60*time.Second, measureOpening),
		one("node-watches", "updates with 5,000 watches by node", 180*time.Second, measureNodeWatches),
		one("auth-get", "GET by kind of credentials", 50*time.Second, measureAuthReads),
		one("auth-watches", "opening watches by kind of credentials", 15*time.Second, measureAuthWatches),
		one("auth-replicas", "reviews of 1,000 replicas", 70*time.Second, measureReplicas),
		one("auth-nodes", "reviews of 5,000 nodes", 90*time.Second, measureNodes),
		one("auth-agents", "1,000 agents with bound tokens, and the end of their rights", 5*time.Minute, measureAgents),
		one("account-watches", "500 leases a second, with and without account watches", 4*time.Minute, measureAccounts),
		one("restart", "1,000 informers, and kube-apiserver is killed and started", 150*time.Second, measureRestarts),
		one("restart-facade", "1,000 informers, and their facade is killed and started", 60*time.Second, measureFacadeRestart),
		one("self-audit", "all pods are compared with kube-apiserver", 12*time.Minute, measureSelfAudit),
		one(assessName, "twelve clients, predicted by listfacade assess and measured", 2*time.Minute, measureAssess),
		one("journal", "a journal of all pods, and a start from it", 6*time.Minute, measureJournal),
		one("shards", "lists of four shards, and events with watches of shards", 4*time.Minute, measureShards),
		one("soak", "all kinds of load at once, for the time of -for", 15*time.Minute, measureSoak),
		one("stalled", "GETs while other callers have stalled answers", 40*time.Second, measureStalled),
		one("split", "delay that listfacade split adds to GETs and events of 64 clients", 110*time.Second, measureSplit),
		one("flood", "informers during a flood of requests", 80*time.Second, measureFlood),
	}
}

// wholeLists returns the scenarios in which one client lists all pods. With resourceVersion=0, both servers respond
// from memory and send no request to their own upstream. The last list is consistent instead.
func wholeLists() []scenario {
	const all, consistent = "/api/v1/pods?resourceVersion=0", "/api/v1/pods"
	list := func(name, title string, must, aim float64, q question) scenario {
		return scenario{name: name, title: "LIST all, " + title, about: 25 * time.Second, by: report.CPU, must: must,
			aim:  aim,
			load: &load{question: q, rounds: 2}}
	}
	http1Lists := func(name, title, encoding string) scenario {
		one := list(name, title+", HTTP/1.1", 0, 0, question{path: all, encoding: encoding, protocol: http1})
		one.load.rounds, one.about = 1, 15*time.Second
		return one
	}
	return []scenario{
		list("list-json-gzip", "JSON gzip", 40, 100, question{path: all, encoding: "gzip", protocol: http2}),
		http1Lists("list-json-gzip-http1", "JSON gzip", "gzip"),
		list("list-protobuf-gzip", "protobuf gzip", 30, 60,
			question{path: all, accept: protobufType, encoding: "gzip", protocol: http2}),
		list("list-json", "JSON identity", 5, 7, question{path: all, encoding: "identity", protocol: http2}),
		http1Lists("list-json-http1", "JSON identity", "identity"),
		list("list-protobuf", "protobuf identity", 4, 6,
			question{path: all, accept: protobufType, encoding: "identity", protocol: http2}),
		list("list-table-gzip", "Table gzip", 25, 60,
			question{path: all, accept: tableType, encoding: "gzip", protocol: http2}),
		list("list-metadata-gzip", "metadata, JSON gzip", 30, 80,
			question{path: all, accept: metadataType, encoding: "gzip", protocol: http2}),
		list("list-consistent-gzip", "consistent, JSON gzip", 30, 100,
			question{path: consistent, encoding: "gzip", protocol: http2}),
	}
}

// parts returns the scenarios in which one client lists some pods, or gets a single pod. kube-apiserver ignores a limit
// at resourceVersion 0, so the client reads pages at an exact version, like all but the first page of a walk. It reads
// the first page consistently, both without and with other clients that write.
func parts(pods dataset.Spec, node, pod string) []scenario {
	list := func(name, title string, must, aim float64, q question) scenario {
		q.protocol = http2
		return scenario{name: name, title: title, about: 13 * time.Second, by: report.CPU, must: must, aim: aim,
			load: &load{question: q}}
	}
	namespace := "/api/v1/namespaces/" + pods.Namespace(7) + "/pods?resourceVersion=0"
	label := "/api/v1/pods?resourceVersion=0&labelSelector=" + dataset.RareLabel + "%3D" + dataset.RareValue
	const exact = firstPage + "&resourceVersion=" + currentVersion
	walk := list("walk-gzip", "All in pages of 500, gzip", 15, 30, question{path: firstPage, encoding: "gzip"})
	walk.load.shape, walk.load.rounds, walk.about = walked, 1, 40*time.Second
	const writing = ", while others write"
	busy := list("page-first-busy-gzip", "The first page of 500, consistent, JSON gzip"+writing, 20, 60,
		question{path: firstPage, encoding: "gzip"})
	busyTable := list("page-first-busy-table-gzip", "The first page of 500, consistent, Table gzip"+writing, 20, 60,
		question{path: firstPage, accept: tableType, encoding: "gzip"})
	busy.load.beside, busyTable.load.beside = true, true
	return []scenario{
		list("namespace-gzip", "LIST a namespace (400 pods), JSON gzip", 20, 40, question{path: namespace, encoding: "gzip"}),
		list("node-json", "LIST a node (40 pods), JSON", 3, 6, question{path: node, encoding: "identity"}),
		list("node-protobuf", "LIST a node (40 pods), protobuf", 3, 6,
			question{path: node, accept: protobufType, encoding: "identity"}),
		list("node-gzip", "LIST a node (40 pods), JSON gzip", 0, 0, question{path: node, encoding: "gzip"}),
		list("label-gzip", "LIST a label (0.5 % of the pods), JSON gzip", 15, 30, question{path: label, encoding: "gzip"}),
		list("page-gzip", "A page of 500, JSON gzip", 20, 40, question{path: exact, encoding: "gzip"}),
		list("page-table-gzip", "A page of 500, Table gzip", 0, 0,
			question{path: exact, accept: tableType, encoding: "gzip"}),
		list("page-first-gzip", "The first page of 500, consistent, JSON gzip", 20, 80,
			question{path: firstPage, encoding: "gzip"}),
		list("page-first-table-gzip", "The first page of 500, consistent, Table gzip", 20, 60,
			question{path: firstPage, accept: tableType, encoding: "gzip"}),
		walk, busy, busyTable,
		list("get", "GET a pod", 0, 0, question{path: pod, encoding: "identity"}),
	}
}

// firstPage is the first page of a consistent list.
const firstPage = "/api/v1/pods?limit=500"

func nodePath(pods dataset.Spec) string {
	return "/api/v1/pods?resourceVersion=0&fieldSelector=spec.nodeName%3D" + pods.Node(42)
}

// podPath returns the path of some pod.
func podPath(pods dataset.Spec) string {
	for pod := range pods.All() {
		return "/api/v1/namespaces/" + pod.Namespace + "/pods/" + pod.Name + "?resourceVersion=0"
	}
	return ""
}

// concurrent returns the scenarios with concurrent clients, each of which sends one question after the other.
func concurrent(node, pod string) []scenario {
	var all []scenario
	for _, clients := range []int{8, 64} {
		of := func(name, title string, asked question) scenario {
			asked.protocol = http2
			return scenario{name: fmt.Sprintf("%s-%d", name, clients),
				title: fmt.Sprintf("%s, %d clients at once", title, clients),
				about: 10 * time.Second, by: report.CPU,
				load: &load{question: asked, clients: clients, rounds: 2}}
		}
		all = append(all, of("node-json", "LIST a node (40 pods), JSON", question{path: node, encoding: "identity"}),
			of("get", "GET a pod", question{path: pod, encoding: "identity"}),
			of("page-first-gzip", "The first page of 500, consistent, JSON gzip", question{path: firstPage, encoding: "gzip"}))
	}
	return all
}

// herds returns the scenarios in which all clients start at the same moment, on open connections, and list everything
// once.
func herds() []scenario {
	const all = "/api/v1/pods?resourceVersion=0"
	const stream = "/api/v1/pods?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
	herd := func(name, title string, clients int, q question) scenario {
		q.encoding, q.protocol = "gzip", http2
		return scenario{name: name, title: fmt.Sprintf("Herd of %d, %s", clients, title), by: report.Wall,
			about: 80 * time.Second,
			load:  &load{question: q, clients: clients, herd: true, rounds: 1}}
	}
	json := herd("herd-json-gzip", "LIST all, JSON gzip", 20, question{path: all})
	json.must, json.aim, json.about = 30, 80, 100*time.Second
	protobuf := herd("herd-protobuf-gzip", "LIST all, protobuf gzip", 20, question{path: all, accept: protobufType})
	protobuf.must, protobuf.aim, protobuf.about = 30, 60, 60*time.Second
	streams := herd("herd-stream-gzip", "streaming list of all, JSON gzip", 20, question{path: stream})
	streams.by, streams.must, streams.aim, streams.load.shape = report.CPU, 20, 60, streamed
	streams.load.once, streams.about = true, 100*time.Second
	few := herd("herd-json-gzip-8", "LIST all, JSON gzip", 8, question{path: all})
	few.load.once, few.about = true, 25*time.Second
	many := herd("herd-json-gzip-64", "LIST all, JSON gzip", 64, question{path: all})
	many.load.once, many.about = true, 85*time.Second
	return []scenario{few, json, many, protobuf, streams}
}
