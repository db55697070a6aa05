package stack

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/joiner-sh/joiner/shared/adapter/dynamoledger"
	"github.com/joiner-sh/joiner/shared/adapter/s3snapshot"
	"github.com/joiner-sh/joiner/testenv/local/cloud"
	"github.com/joiner-sh/joiner/testenv/local/cloud/arcshift"
	"github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb"
	"github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
	"github.com/joiner-sh/joiner/testenv/local/cloud/ecr"
	"github.com/joiner-sh/joiner/testenv/local/cloud/eks"
	"github.com/joiner-sh/joiner/testenv/local/cloud/reading"
	"github.com/joiner-sh/joiner/testenv/local/cloud/servicequotas"
	"github.com/joiner-sh/joiner/testenv/local/cloudformation/deploy"
	"github.com/joiner-sh/joiner/testenv/local/cloudformation/stacks"
	"github.com/joiner-sh/joiner/testenv/local/kube"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime/events"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime/eventsource"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime/schedule"
	"github.com/joiner-sh/joiner/testenv/local/machine"
)

// Options say how a stack differs from the default one. The zero value is a working stack with believable, quick timing.
type Options struct {
	Cluster  string    // name of the cluster: joiner-demo
	Dir      string    // for data and logs: a temporary folder, removed by Stop
	Progress io.Writer // what is happening, for a person; nil = discard

	Admission    bool     // watchers answer admission reviews, so that people are warned and refused while they apply
	SelfManaged  bool     // EKS does not run the first cluster, whose name is own: see the package
	Relay        bool     // clusters are in relay mode: functions reach their API servers through the watchers and in no other way
	Adopters     bool     // the first cluster has a role for people who take it over from Karpenter; alarms may stop it
	Concurrency  int      // the account's quota of executions of functions at once: 1,000; with less than 100 queues are read as context batches=2 has it
	Watchers     int      // replicas of the watcher: 1; negative = none
	WatcherEnv   []string // beside what a watcher needs
	FunctionEnv  map[string]string
	PlannerEnv   map[string]string // of the function that launches instances alone, beside FunctionEnv
	EndsEnv      map[string]string // the same of the function that ends instances
	DisruptEnv   map[string]string // the same of the function that decides what to give back
	Visibility   time.Duration     // of the queues but the catalog's: as the template says
	Timeout      time.Duration     // of the functions but the catalog's: the same
	MaxReceives  int               // before a hint goes to the dead-letter queue: the same
	ResyncEvery  time.Duration     // the same
	EC2          ec2.Timing        // zero: boots in 3 to 6 s, one second of visibility lag
	Types        []ec2.Type        // instance types that EC2 sells: the whole catalog
	Instance     machine.Timing
	Faults       eventsource.Faults
	OnLog        func(lambdaruntime.LogLine) // of functions
	OnExit       func(lambdaruntime.Exit)
	OnInstance   func(machine.Event)
	OnDelivery   func(eventsource.Delivery)
	OnNotices    func(eventsource.Delivery) // of the queue of notices
	LoseEvent    func(events.Entry) bool    // which events of EC2 never get to EventBridge's rules; nil = none
	NoChart      bool                       // clusters are attached and have no chart, nor watchers, as between the two commands of an installation
	KubeOptions  kube.Options
	Addons       []string     // of the first cluster, beside the one for Pod Identity: AddonEBS, AddonVPC
	CloudAddress string       // host:port of the AWS endpoint: a free port
	Readings     *reading.Set // of what AWS leaves open: as the environment says

	// Bare is an account with a cluster and nothing deployed: whoever uses it deploys over the wire, installs the chart, and starts watchers then.
	Bare         bool
	NoKubernetes bool // with Bare: the cluster is one that EKS knows of alone; nothing answers at its endpoint
}

func (o Options) withDefaults() Options {
	if o.Cluster == "" {
		o.Cluster = "joiner-demo"
	}
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	if o.Watchers == 0 && !o.NoChart {
		o.Watchers = 1
	}
	if (o.EC2 == ec2.Timing{}) {
		o.EC2 = QuickTiming()
	}
	if (o.Instance == machine.Timing{}) {
		o.Instance = machine.Timing{Register: time.Second, Initialize: 300 * time.Millisecond, Ready: time.Second, Devices: time.Second, Delete: time.Second}
	}
	return o
}

// QuickTiming is the default of Options.EC2.
func QuickTiming() ec2.Timing {
	return ec2.Timing{
		Boot: ec2.Delay{Min: 3 * time.Second, Max: 6 * time.Second}, Shutdown: ec2.Delay{Min: time.Second, Max: 2 * time.Second},
		Visibility: time.Second, Gone: time.Hour,
	}
}

// Stack is a running one. Its fields may be used from any goroutine; they stay what they are until Stop.
type Stack struct {
	Options    Options
	Cloud      *cloud.Cloud
	EC2        *ec2.Model
	Quotas     *servicequotas.Model
	Zones      *arcshift.Model // zonal shifts
	ECR        *ecr.Model
	Stacks     *stacks.Model // what is deployed over the wire
	Tables     *dynamodb.Model
	Cluster    *Cluster           // the first
	Kube       *kube.ControlPlane // the first cluster's
	Instances  *machine.Fleet     // the same
	Runtime    *lambdaruntime.Runner
	Ledger     *dynamoledger.Ledger // with the rights of the account's root
	Store      *s3snapshot.Store    // the same
	QueueURL   string               // the first cluster's plan queue
	PassesURL  string               // the queue of interruption
	CatalogURL string               // the queue of catalog
	DisruptURL string               // the queue of disrupt
	NoticesURL string               // the queue of what EventBridge tells interruption
	Bus        *events.Bus          // with the rules of the region's stack; EC2 tells it what it has to say
	Region     *deploy.Stack        // the region's stack, as deployed from its template
	Table      string
	Bucket     string

	account     *account
	deployments *deploy.Account
	running     context.Context // until Stop
	stopped     context.CancelFunc
	dir         string
	ownsDir     bool
	binaries    binaries
	schedule    *schedule.Scheduler
	mutex       sync.Mutex // guards watchers
	watchers    []*Watcher
	closers     []func()
	stopOnce    sync.Once
}

// Start builds the binaries, starts every part and attaches the cluster. On an error nothing is left running.
func Start(ctx context.Context, o Options) (*Stack, error) {
	o = o.withDefaults()
	s := &Stack{Options: o}
	s.running, s.stopped = context.WithCancel(context.Background())
	if err := s.start(ctx); err != nil {
		s.Stop()
		return nil, fmt.Errorf("start the stack: %w", err)
	}
	return s, nil
}

func (s *Stack) start(ctx context.Context) error {
	if err := s.makeDir(); err != nil {
		return err
	}
	build := s.buildAll(ctx) // while the rest starts
	s.say("starting our model of AWS")
	if err := s.startCloud(); err != nil {
		return err
	}
	err := s.startRuntime()
	if err != nil {
		return err
	}
	if s.Options.NoKubernetes {
		s.account.eks.AddCluster(eks.Cluster{Name: s.Options.Cluster, Version: kubernetesMinor(), Endpoint: "https://127.0.0.1:9", CertificateAuthority: []byte("of nobody")})
		if s.binaries, err = build.wait(); err != nil {
			return err
		}
		s.startNotices()
		return s.deployments.Begin()
	}
	s.say("starting Kubernetes %s (built from its modules the first time)", kube.KubernetesVersion())
	first, err := s.startCluster(ctx, s.account, s.Options.Cluster, s.dir)
	if err != nil {
		return err
	}
	s.Cluster, s.Kube, s.Instances = first, first.Kube, first.Instances
	if s.binaries, err = build.wait(); err != nil {
		return err
	}
	if s.Options.Bare {
		s.startNotices()
		return s.deployments.Begin()
	}
	s.say("deploying the region's stack and the cluster's")
	if err := s.deployRegion(ctx); err != nil {
		return err
	}
	s.startNotices()
	if err := s.enter(ctx, first); err != nil {
		return err
	}
	if err := s.deployments.Begin(); err != nil {
		return err
	}
	for range max(0, s.Options.Watchers) {
		if _, err := s.StartWatcher(); err != nil {
			return err
		}
	}
	return nil
}

func (s *Stack) makeDir() error {
	s.dir = s.Options.Dir
	if s.dir == "" {
		dir, err := os.MkdirTemp("", "joiner-stack-")
		if err != nil {
			return err
		}
		s.dir, s.ownsDir = dir, true
	}
	return os.MkdirAll(filepath.Join(s.dir, "logs"), 0o755)
}

// Clusters is EKS as the account has it.
func (s *Stack) Clusters() *eks.Model { return s.account.eks }

// Dir is where data and logs are.
func (s *Stack) Dir() string { return s.dir }

func (s *Stack) say(format string, args ...any) {
	fmt.Fprintf(s.Options.Progress, format+"\n", args...)
}

func (s *Stack) closeLater(f func()) { s.closers = append(s.closers, f) }

// Stop ends every process, newest first, and removes what the stack made. It may be called more than once.
func (s *Stack) Stop() {
	s.stopOnce.Do(func() {
		s.stopped()
		if s.Cloud != nil {
			for _, use := range s.Cloud.Policies.Denied() {
				s.say("denied: %v", use)
			}
		}
		s.mutex.Lock()
		watchers := s.watchers
		s.mutex.Unlock()
		for _, w := range watchers {
			w.Kill()
		}
		for i := len(s.closers) - 1; i >= 0; i-- {
			s.closers[i]()
		}
		if s.ownsDir {
			os.RemoveAll(s.dir)
		}
	})
}
