package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/listfacade/listfacade/bench/internal/report"
	"github.com/listfacade/listfacade/internal/testkit"
)

const (
	companyFor  = 4 * time.Second      // duration of one block; each server has two blocks for each number of clients
	companyWarm = 2 * time.Second      // duration of the warm-up
	thinkMost   = 9 * time.Millisecond // maximum pause between two reads of one client
)

// companies are the numbers of clients that read at the same time.
var companies = []int{1, 8, 64}

// quietReads returns the paths of 18 small resources, each as a list and as one object.
func quietReads() []string {
	var paths []string
	add := func(list, name string) { paths = append(paths, list, list+"/"+name) }
	for _, kind := range testkit.FreshKinds() {
		everywhere := strings.Replace(kind.Path(""), "namespaces//", "", 1)
		paths = append(paths, everywhere, kind.Path(freshNamespace)+"/"+companyName)
	}
	add("/api/v1/namespaces", "kube-system")
	rbac := "/apis/rbac.authorization.k8s.io/v1/"
	add(rbac+"clusterroles", "view")
	add(rbac+"clusterrolebindings", "cluster-admin")
	flow := "/apis/flowcontrol.apiserver.k8s.io/v1/"
	add(flow+"flowschemas", "exempt")
	add(flow+"prioritylevelconfigurations", "exempt")
	add("/apis/apiregistration.k8s.io/v1/apiservices", "v1.apps")
	paths = append(paths, rbac+"rolebindings",
		rbac+"namespaces/kube-system/rolebindings/system::leader-locking-kube-scheduler")
	add("/apis/networking.k8s.io/v1/servicecidrs", "kubernetes")
	return paths
}

const companyName = "company"

// shift contains the measurements of one server while a number of clients reads from it.
type shift struct {
	taken          []time.Duration // durations of the reads
	upstream, self time.Duration   // processor time of kube-apiserver and of the facade
	seconds        float64
}

// measureCompany lets clients read small quiet resources at random from either server. The reads have no
// resourceVersion, so each response needs a freshness check. Each client pauses between its reads. beside describes
// other activity in the cluster, for the names of the rows.
func measureCompany(ctx context.Context, s *stage, beside string, t *table) error {
	for _, n := range companies {
		say("%d clients read small kinds at random%s", n, beside)
		direct, facade := new(shift), new(shift)
		for _, one := range []struct {
			server *server
			lasts  time.Duration
			into   *shift
		}{
			{s.direct, companyWarm, new(shift)}, {s.facade, companyWarm, new(shift)},
			{s.direct, companyFor, direct}, {s.facade, companyFor, facade}, {s.facade, companyFor, facade},
			{s.direct, companyFor, direct},
		} {
			if err := attend(ctx, s.pair, one.server, n, one.lasts, one.into); err != nil {
				return err
			}
		}
		t.addCompany(fmt.Sprintf("%d clients, small kinds at random%s", n, beside), direct, facade)
	}
	return nil
}

// measureCompanies measures an idle cluster first, then a cluster in which two resources change all the time.
func measureCompanies(ctx context.Context, s *stage, t *table) error {
	client, err := writer(ctx, s.cluster)
	if err != nil {
		return err
	}
	for _, kind := range testkit.FreshKinds() {
		if _, err := kind.Write(ctx, client, freshNamespace, companyName, "0"); err != nil {
			return err
		}
	}
	if err := measureCompany(ctx, s, "", t); err != nil {
		return err
	}
	working, stop := context.WithCancel(ctx)
	defer stop()
	group, working := errgroup.WithContext(working)
	for _, kind := range testkit.FreshKinds()[:busyKinds] {
		group.Go(func() error { return keepBusy(working, client, kind) })
	}
	err = measureCompany(ctx, s, ", during 400 writes a second", t)
	stop()
	return errors.Join(err, group.Wait())
}

// attend lets n clients read from a server for some time, and adds the result to a shift.
func attend(ctx context.Context, servers pair, s *server, n int, lasting time.Duration, into *shift) error {
	upstream, self, err := servers.cpu()
	if err != nil {
		return err
	}
	began := time.Now()
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	for c := range n {
		group.Go(func() error {
			taken, err := s.visit(ctx, rand.New(rand.NewPCG(uint64(c), 1)), began.Add(lasting))
			mu.Lock()
			defer mu.Unlock()
			into.taken = append(into.taken, taken...)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	into.seconds += time.Since(began).Seconds()
	upstreamAfter, selfAfter, err := servers.cpu()
	into.upstream += upstreamAfter - upstream
	into.self += selfAfter - self
	return err
}

// cpu returns the processor time of both servers so far.
func (p pair) cpu() (direct, facade time.Duration, err error) {
	if direct, err = p.direct.process.CPU(); err != nil {
		return 0, 0, err
	}
	facade, err = p.facade.process.CPU()
	return direct, facade, err
}

// visit reads quietReads at random until a deadline, as a client with its own connection. It returns the durations of
// the reads.
func (s *server) visit(ctx context.Context, random *rand.Rand, until time.Time) ([]time.Duration, error) {
	client, err := s.visitor(http2)
	if err != nil {
		return nil, err
	}
	defer client.CloseIdleConnections()
	paths := quietReads()
	var taken []time.Duration
	for time.Now().Before(until) {
		path := paths[random.IntN(len(paths))]
		began := time.Now()
		if err := s.drain(ctx, client, path); err != nil {
			return nil, err
		}
		taken = append(taken, time.Since(began))
		select {
		case <-time.After(time.Duration(random.Int64N(int64(thinkMost)))):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return taken, nil
}

func (s *server) drain(ctx context.Context, client *http.Client, path string) error {
	q := question{name: path, path: path, encoding: "gzip", protocol: http2}
	response, err := s.ask(ctx, client, q)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	return err
}

// addCompany adds the clients' latencies and the cost of their reads on either server.
func (t *table) addCompany(name string, direct, facade *shift) {
	rate := func(s *shift) float64 { return float64(len(s.taken)) / s.seconds }
	each := func(cpu time.Duration, s *shift) time.Duration { return cpu / time.Duration(max(1, len(s.taken))) }
	t.add(name+": reads", report.Number(rate(direct))+" /s", report.Number(rate(facade))+" /s",
		times(rate(direct), rate(facade)))
	t.addTimes(name, direct.taken, facade.taken)
	upstream := [2]time.Duration{each(direct.upstream, direct), each(facade.upstream, facade)}
	t.add(name+": CPU of kube-apiserver per read", report.Duration(upstream[0]), report.Duration(upstream[1]),
		times(float64(upstream[0]), float64(upstream[1])))
	t.add(name+": CPU of the facade per read", "", report.Duration(each(facade.self, facade)), "")
}
