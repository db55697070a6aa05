package stack

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/joiner-sh/joiner/testenv/local/kube"
	"github.com/joiner-sh/joiner/testenv/local/kube/child"
)

// Watcher is one replica, a process with a token of its service account, the settings of its Deployment and the key of a role.
type Watcher struct {
	LogPath string

	process *child.Process
	once    sync.Once
}

// Err says how it ended, with the end of its log; nil while it runs.
func (w *Watcher) Err() error { return w.process.Err() }

// Kill ends it as kill -9 does.
func (w *Watcher) Kill() { w.once.Do(w.process.Kill) }

// StartWatcher starts another replica of the first cluster's.
func (s *Stack) StartWatcher() (*Watcher, error) { return s.StartWatcherOf(s.Cluster) }

// watcherIdentity is the part of a watcher's environment by which it is somebody in AWS: keys that Pod Identity gives
// it, or outside of EKS what a token does.
func watcherIdentity(s *Stack, c *Cluster, session string) ([]string, error) {
	if c.own != nil {
		return c.own.identity(), nil
	}
	keys, err := s.WatcherKeys(c, session)
	if err != nil {
		return nil, err
	}
	return s.Cloud.Environment(keys), nil
}

// StartWatcherOf starts another replica of a cluster's.
func (s *Stack) StartWatcherOf(c *Cluster) (*Watcher, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	name := fmt.Sprintf("watcher-%d", len(s.watchers))
	config, err := c.Kube.ServiceAccount(s.running, chartNamespace, watcherAccount)
	if err != nil {
		return nil, err
	}
	kubeconfig, err := kube.Kubeconfig(config)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(s.dir, name+".kubeconfig")
	if err := os.WriteFile(path, kubeconfig, 0o600); err != nil {
		return nil, err
	}
	own, err := watcherIdentity(s, c, name)
	if err != nil {
		return nil, err
	}
	env := append(os.Environ(), own...)
	env = append(env, c.watcherEnv...)
	// What differs between a pod and a process: where its identity is, what it is called, and that ports are shared.
	env = append(env, "KUBECONFIG="+path, "JOINER_IDENTITY="+name, "JOINER_HEALTH_ADDRESS=127.0.0.1:0", "JOINER_METRICS_ADDRESS=127.0.0.1:0", "JOINER_WEBHOOK_ADDRESS=127.0.0.1:0")
	if c.admission != nil {
		env = append(env, c.admission.environment()...)
	}
	env = append(env, s.Options.WatcherEnv...)
	log := filepath.Join(s.dir, "logs", name+".log")
	process, err := child.Start(child.Spec{Name: name, Path: s.binaries.watcher(), Env: env, LogPath: log})
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	w := &Watcher{LogPath: log, process: process}
	if c.admission != nil {
		c.admission.add(answering{log: log, ended: process.Err})
	}
	s.watchers = append(s.watchers, w)
	return w, nil
}
