package proof

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
)

// Clock tells time and waits.
type Clock interface {
	Now() time.Time
	Sleep(ctx context.Context, d time.Duration) error
}

// SystemClock returns the clock of the host.
func SystemClock() Clock { return systemClock{} }

type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

func (systemClock) Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Env is what probes work with.
type Env struct {
	Clients           // the caller's own
	Run        string // id of the run
	Owner      string
	Account    string
	Caller     string // ARN
	Partition  string // "aws"
	Region     string
	Cluster    string // name of an EKS cluster; "" where none was given
	SubnetID   string // where instances run; "" is a default subnet
	ExternalID string // what the run's role asks for

	clock    Clock
	budget   *Budget
	recorder *Recorder
	next     Doer

	mu       sync.Mutex
	shared   map[string]*shared
	names    int
	roleTook time.Duration // until the run's role could act
}

type shared struct {
	once  sync.Once
	value any
	err   error
}

// Now returns the time.
func (e *Env) Now() time.Time { return e.clock.Now() }

// Sleep waits.
func (e *Env) Sleep(ctx context.Context, d time.Duration) error { return e.clock.Sleep(ctx, d) }

// Until asks each so often until the answer is true, and returns how long that took. ok is false where the limit has passed.
func (e *Env) Until(ctx context.Context, limit, every time.Duration, ask func() (bool, error)) (took time.Duration, ok bool, err error) {
	begun := e.Now()
	for {
		done, err := ask()
		took := e.Now().Sub(begun)
		if done || err != nil || took >= limit {
			return took, done, err
		}
		if err := e.Sleep(ctx, every); err != nil {
			return took, false, err
		}
	}
}

// Name returns a name for something of the run: it has Prefix, the run's id and what.
func (e *Env) Name(what string) string { return Prefix + e.Run + "-" + what }

// Token returns a client token of 32 characters, the same for the same words.
func (e *Env) Token(words ...string) string {
	sum := sha256.Sum256([]byte(e.Run + "/" + strings.Join(words, "/")))
	return hex.EncodeToString(sum[:16])
}

// Tags returns the tags of all that the run makes.
func (e *Env) Tags() map[string]string {
	return map[string]string{TagRun: e.Run, TagOwner: e.Owner}
}

// ARN returns the ARN of something of the account in the region.
func (e *Env) ARN(service, resource string) string {
	return arn.ARN{Partition: e.Partition, Service: service, Region: e.Region, AccountID: e.Account, Resource: resource}.String()
}

// Spend counts a cost that requests do not have, such as an instance's.
func (e *Env) Spend(what string, cost float64) error { return e.budget.Spend(what, cost) }

// ClientsAs returns the services as the holder of other keys reaches them. name tells the caller apart in the record.
func (e *Env) ClientsAs(name string, keys aws.CredentialsProvider) Clients {
	c := e.Config.Copy()
	c.Credentials = keys
	c.HTTPClient = e.recorder.Over(e.next, name)
	return newClients(c)
}

// With returns the caller's services with settings of configuration changed.
func (e *Env) With(change func(*aws.Config)) Clients {
	c := e.Config.Copy()
	change(&c)
	return newClients(c)
}

// Through returns a sender of requests that no SDK makes, recorded like others.
func (e *Env) Through(next Doer) Doer {
	if player, ok := e.next.(*Player); ok {
		next = player
	}
	return e.recorder.Over(next, "")
}

// Sender returns the sender of requests to AWS that no SDK makes.
func (e *Env) Sender() Doer { return e.recorder.Over(e.next, "") }

// Hide has a text replaced in the record.
func (e *Env) Hide(text, by string) { e.recorder.Scrub.Hide(text, by) }

// Shared makes something once for all probes that want it. What making it came to, an error too, is the answer to all.
func Shared[T any](ctx context.Context, e *Env, name string, build func(context.Context) (T, error)) (T, error) {
	e.mu.Lock()
	s := e.shared[name]
	if s == nil {
		s = &shared{}
		e.shared[name] = s
	}
	e.mu.Unlock()
	s.once.Do(func() { s.value, s.err = build(withPart(ctx, "shared/"+name)) })
	if s.err != nil {
		return *new(T), fmt.Errorf("%s, which several probes share: %w", name, s.err)
	}
	return s.value.(T), nil
}

// Number returns 1, 2, 3 … within a run.
func (e *Env) Number() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.names++
	return e.names
}
