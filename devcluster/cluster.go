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

const separateEtcdName = etcdName + "-2"

const createWithin = 2 * time.Minute

// maxNodes is the maximum number of nodes with distinct addresses.
const maxNodes = 100 * 256

const maxAPIServers = 9

// Cluster is a running control plane. Its methods are safe for concurrent use.
type Cluster struct {
	options      Options
	dir          string
	ownsDir      bool // Start created dir; Close removes it unless Options.Keep is Preserve
	programs     map[binaries.Program]string
	certificates *Certificates
	authorities  map[string]pki.Pair
	kubeconfigs  map[string]string
	servers      map[string]string // URL of each kube-apiserver, by the name of its process
	etcd         *etcd
	separate     *etcd // for Options.SeparateEtcd; nil if it is empty

	reservations []*ports.Reservation
	spawner      *process.Spawner
	order        []string // names of the processes in the order of their start
	processes    map[string]*process.Process
	control      *control
	failed       chan error

	closing  sync.Once
	closeErr error // set by closing
}

// Start builds missing binaries, starts the cluster and returns when it is ready. ctx limits only the start. When Start
// fails, it leaves no process running; the error of a server that failed to start contains the end of its log.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	if o.Nodes < 0 || o.Nodes > maxNodes {
		return nil, fmt.Errorf("number of nodes %d must be from 0 to %d", o.Nodes, maxNodes)
	}
	if o.APIServers < 0 || o.APIServers > maxAPIServers {
		return nil, fmt.Errorf("number of kube-apiservers %d must be from 1 to %d", o.APIServers, maxAPIServers)
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

// Failed returns a channel that delivers the first unexpected exit of a server as a *process.DeathError.
func (c *Cluster) Failed() <-chan error { return c.failed }

// Close kills every process and waits for them. It removes the directory if Start created it and Options.Keep is
// Remove.
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
		return fmt.Errorf("resolve directory: %w", err)
	}
	return os.MkdirAll(c.dir, 0o700)
}

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

// run starts the servers in order, because a server may need the earlier ones.
func (c *Cluster) run(ctx context.Context) error {
	for _, name := range c.order {
		if err := c.processes[name].Start(ctx); err != nil {
			return err
		}
	}
	return nil
}

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

func (c *Cluster) add(program binaries.Program, spec process.Spec) {
	spec.Path = c.programs[program]
	spec.LogFile = c.path(spec.Name + ".log")
	if c.options.Code == QuicklyCompiled {
		spec.Env = []string{"GOGC=300"} // a tenth less work for a fifth more memory; these processes are not measured
	}
	c.order = append(c.order, spec.Name)
	c.processes[spec.Name] = process.New(spec, c.spawner, func(err error) {
		select {
		case c.failed <- err:
		default: // the first death ends the cluster, and often causes the next ones
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
