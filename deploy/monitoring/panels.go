package main

type graph struct {
	title, about, unit string
	queries            []query
}

type query struct{ expr, legend string }

type row struct {
	title  string
	graphs []graph
}

// prometheus is the data source of all panels. The user of the dashboard selects it.
var prometheus = &datasource{Type: "prometheus", UID: "$datasource"}

// Label selectors of queries, by the replicas (pod) and resources that the user of the dashboard chose.
const (
	of   = `job="listfacade",pod=~"$pod",resource=~"$resource"`
	pods = `job="listfacade",pod=~"$pod"`
)

const (
	columns = 3
	width   = 24 / columns
	height  = 8
)

func newDashboard() dashboard {
	d := dashboard{
		UID: "listfacade", Title: "listfacade", Tags: []string{"kubernetes", "listfacade"}, SchemaVersion: 39, Editable: true,
		Refresh: "30s",
		Time:    timeRange{From: "now-3h", To: "now"},
		Templating: templating{List: []variable{
			{Name: "datasource", Type: "datasource", Label: "Data source", Query: "prometheus"},
			chosen("pod", "Replica", `label_values(up{job="listfacade"}, pod)`),
			chosen("resource", "Resource", `label_values(listfacade_lane_synced{job="listfacade"}, resource)`),
		}},
	}
	y := 0
	for _, r := range rows() {
		d.add(panel{Type: "row", Title: r.title, GridPos: gridPos{H: 1, W: 24, Y: y}})
		y++
		for i, g := range r.graphs {
			d.add(g.at(gridPos{H: height, W: width, X: i % columns * width, Y: y + i/columns*height}))
		}
		y += (len(r.graphs) + columns - 1) / columns * height
	}
	return d
}

func chosen(name, label, values string) variable {
	return variable{
		Name: name, Type: "query", Label: label, Query: values, Datasource: prometheus, Multi: true, IncludeAll: true,
		AllValue: ".*", Refresh: 2,
	}
}

func (d *dashboard) add(p panel) {
	p.ID = len(d.Panels) + 1
	d.Panels = append(d.Panels, p)
}

func (g graph) at(position gridPos) panel {
	p := panel{
		Type: "timeseries", Title: g.title, Description: g.about, GridPos: position, Datasource: prometheus,
		FieldConfig: &fieldConfig{Defaults: fieldDefaults{Unit: g.unit}},
	}
	for i, q := range g.queries {
		p.Targets = append(p.Targets, target{RefID: string(rune('A' + i)), Expr: q.expr, LegendFormat: q.legend})
	}
	return p
}

// rate returns a query for the increase of a counter per second, summed by labels.
func rate(by, metric, selector string) string {
	return "sum by (" + by + ") (rate(" + metric + "{" + selector + "}[$__rate_interval]))"
}

// p99 returns a query for the 99th percentile of a histogram.
func p99(by, metric, selector string) string {
	return "histogram_quantile(0.99, " + rate("le, "+by, metric+"_bucket", selector) + ")"
}
