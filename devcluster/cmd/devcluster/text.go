package main

import (
	"io"
	"maps"
	"slices"
	"text/template"
	"time"

	"github.com/listfacade/listfacade/devcluster"
)

var textTemplate = template.Must(template.New("up").Parse(`
A Kubernetes control plane is ready after {{.Seconds}} s: {{range $i, $n := .Servers}}{{if $i}}, {{end}}{{$n}}{{end}}

  {{.Kubectl}} --kubeconfig {{.Admin}} get namespaces

server       {{.Info.Server}}
authority    {{.Info.CAFile}}
kubeconfigs  {{.Info.Dir}}/kubeconfigs: {{range $i, $n := .Users}}{{if $i}}, {{end}}{{$n}}{{end}}
logs         {{.Info.Dir}}/*.log
control      curl --unix-socket {{.Info.Control}} -X POST http://devcluster/processes/kube-apiserver/pause
             (kill, stop, start, restart, pause, continue; GET /processes; POST /compact)

ctrl-C ends it.
`))

func writeText(w io.Writer, info devcluster.Info, took time.Duration) error {
	return textTemplate.Execute(w, map[string]any{
		"Seconds": took.Round(100 * time.Millisecond).Seconds(),
		"Servers": slices.Sorted(maps.Keys(info.Processes)),
		"Users":   slices.Sorted(maps.Keys(info.Kubeconfigs)),
		"Kubectl": info.Binaries["kubectl"],
		"Admin":   info.Kubeconfigs[devcluster.Admin],
		"Info":    info,
	})
}
