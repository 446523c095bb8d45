package devcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/listfacade/listfacade/devcluster/internal/binaries"
	"github.com/listfacade/listfacade/devcluster/internal/pki"
	"github.com/listfacade/listfacade/devcluster/internal/ports"
	"github.com/listfacade/listfacade/devcluster/internal/process"
)

// Names of the servers that always run.
const (
	etcdName      = string(binaries.Etcd)
	apiServerName = string(binaries.APIServer)
)

// separateEtcdName is the etcd of the resources that live apart.
const separateEtcdName = etcdName + "-2"

// createWithin bounds what is created after the servers are ready.
const createWithin = 2 * time.Minute

// maxNodes is how many nodes have addresses of their own.
const maxNodes = 100 * 256

// maxAPIServers is more than anybody has a use for on one machine.
const maxAPIServers = 9

// Cluster is a running control plane. Its methods may be called from any goroutine.
type Cluster struct {
	options      Options
	dir          string
	ownsDir      bool // made here, so removed here
	programs     map[binaries.Program]string
	certificates *Certificates
	authorities  map[string]pki.Pair
	kubeconfigs  map[string]string
	servers      map[string]string // the URL of each kube-apiserver, by the name of its process
	etcd         *etcd
	separate     *etcd // of the resources that live apart; nil when there are none

	reservations []*ports.Reservation
	spawner      *process.Spawner
	order        []string // in which processes were started
	processes    map[string]*process.Process
	control      *control
	failed       chan error

	closing  sync.Once
	closeErr error // set by closing
}

// Start builds what is not built yet, starts the cluster and returns when it is ready. ctx bounds the start only. When
// it fails nothing is left running; the error of a server that did not come up carries the end of its log.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	if o.Nodes < 0 || o.Nodes > maxNodes {
		return nil, fmt.Errorf("%d nodes: must be from 0 to %d", o.Nodes, maxNodes)
	}
	if o.APIServers < 0 || o.APIServers > maxAPIServers {
		return nil, fmt.Errorf("%d kube-apiservers: must be from 1 to %d", o.APIServers, maxAPIServers)
	}
	c := &Cluster{
		options:   o,
		processes: make(map[string]*process.Process),
		failed:    make(chan error, 1),
	}
	if err := c.start(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// Failed delivers the first unexpected death of a server, a *process.DeathError.
func (c *Cluster) Failed() <-chan error { return c.failed }

// Close kills every process, waits for them, and removes the directory if Start made it and nobody asked to keep it.
func (c *Cluster) Close() error {
	c.closing.Do(func() { c.closeErr = c.close() })
	return c.closeErr
}

func (c *Cluster) close() error {
	var errs []error
	if c.control != nil {
		errs = append(errs, c.control.close())
	}
	for i := len(c.order) - 1; i >= 0; i-- {
		c.processes[c.order[i]].Close()
	}
	if c.spawner != nil {
		c.spawner.Close()
	}
	for _, r := range c.reservations {
		errs = append(errs, r.Release())
	}
	if c.ownsDir && c.options.Keep == Remove {
		errs = append(errs, os.RemoveAll(c.dir))
	}
	return errors.Join(errs...)
}

func (c *Cluster) start(ctx context.Context) error {
	for _, step := range []func(context.Context) error{
		c.build, c.makeDir, c.describe, c.run, c.createObjects,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	var err error
	c.control, err = serveControl(c)
	return err
}

func (c *Cluster) build(ctx context.Context) (err error) {
	c.programs, err = binaries.Build(ctx, binaries.Options{
		ModuleDir: c.options.ModuleDir,
		Release:   c.options.Release,
		CacheDir:  c.options.CacheDir,
		Programs:  c.options.programs(),
		Code:      c.options.Code,
		Progress:  c.options.Progress,
	})
	return err
}

func (c *Cluster) makeDir(context.Context) (err error) {
	if c.options.Dir == "" {
		c.dir, err = os.MkdirTemp("", "devcluster-")
		c.ownsDir = err == nil
		return err
	}
	if c.dir, err = filepath.Abs(c.options.Dir); err != nil {
		return fmt.Errorf("find directory: %w", err)
	}
	return os.MkdirAll(c.dir, 0o700)
}

// describe makes certificates and kubeconfigs and decides how every server is run.
func (c *Cluster) describe(context.Context) (err error) {
	c.spawner = process.NewSpawner()
	if c.certificates, err = MakeCertificates(c.path("pki"), nil); err != nil {
		return err
	}
	if c.authorities, err = c.certificates.KeepAuthorities(); err != nil {
		return err
	}
	if err := c.addEtcds(); err != nil {
		return err
	}
	if err := c.addAPIServers(); err != nil {
		return err
	}
	if c.kubeconfigs, err = c.certificates.WriteKubeconfigs(c.path("kubeconfigs"), c.servers[apiServerName]); err != nil {
		return err
	}
	if err := c.addControllers(c.reserve); err != nil {
		return err
	}
	if !c.options.Has(Kwok) {
		return nil
	}
	port, err := c.reserve()
	if err != nil {
		return err
	}
	return c.addKwok(port)
}

// run starts the servers in order: each needs the one before it.
func (c *Cluster) run(ctx context.Context) error {
	for _, name := range c.order {
		if err := c.processes[name].Start(ctx); err != nil {
			return err
		}
	}
	return nil
}

// createObjects creates the objects without which the cluster is not what was asked for.
func (c *Cluster) createObjects(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, createWithin)
	defer cancel()
	if err := GrantRights(ctx, c.kubeconfigs); err != nil {
		return err
	}
	if c.options.Has(Kwok) {
		if err := c.addNodes(ctx); err != nil {
			return err
		}
	}
	if c.options.Demo == WithDemo {
		return CreateDemo(ctx, c.kubeconfigs[Admin])
	}
	return nil
}

// add notes a server that run will start.
func (c *Cluster) add(program binaries.Program, spec process.Spec) {
	spec.Path = c.programs[program]
	spec.LogFile = c.path(spec.Name + ".log")
	if c.options.Code == QuicklyCompiled {
		spec.Env = []string{"GOGC=300"} // a tenth less work, for a fifth more memory; nobody measures these
	}
	c.order = append(c.order, spec.Name)
	c.processes[spec.Name] = process.New(spec, c.spawner, func(err error) {
		select {
		case c.failed <- err:
		default: // one death is enough to end a cluster, and often the cause of the next
		}
	})
}

func (c *Cluster) reserve() (*ports.Reservation, error) {
	r, err := ports.Reserve()
	if err == nil {
		c.reservations = append(c.reservations, r)
	}
	return r, err
}

func (c *Cluster) path(name string) string { return filepath.Join(c.dir, name) }
