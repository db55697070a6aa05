package stacks

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/joiner-sh/joiner/testenv/local/cloud/clock"
	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
	"github.com/joiner-sh/joiner/testenv/local/cloudformation/deploy"
)

// Statuses of stacks and resources. Those of a failed operation end in Failed.
const (
	reviewInProgress   = "REVIEW_IN_PROGRESS"
	createInProgress   = "CREATE_IN_PROGRESS"
	createComplete     = "CREATE_COMPLETE"
	createFailed       = "CREATE_FAILED"
	rollbackInProgress = "ROLLBACK_IN_PROGRESS"
	rollbackComplete   = "ROLLBACK_COMPLETE"
	rollbackFailed     = "ROLLBACK_FAILED"
	deleteInProgress   = "DELETE_IN_PROGRESS"
	deleteComplete     = "DELETE_COMPLETE"
	deleteFailed       = "DELETE_FAILED"
	deleteSkipped      = "DELETE_SKIPPED"
	updateInProgress   = "UPDATE_IN_PROGRESS"
	updateCleanup      = "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS"
	updateComplete     = "UPDATE_COMPLETE"
	updateFailed       = "UPDATE_FAILED"
	updateBack         = "UPDATE_ROLLBACK_IN_PROGRESS"
	updateBackCleanup  = "UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS"
	updateBackComplete = "UPDATE_ROLLBACK_COMPLETE"
	updateBackFailed   = "UPDATE_ROLLBACK_FAILED"
)

// Options say whose stacks they are. Account and Object are required.
type Options struct {
	Clock   clock.Clock // nil: the system's
	Account *deploy.Account
	// Object returns an object of S3, for templates that are given by their URL.
	Object func(bucket, key string) (body []byte, ok bool)
	// Early has change sets fail whose resources have names that are taken. Without it the creation of the resource fails, in the middle of the stack's. Both
	// have been seen: AWS looks before for some types and in some regions (user guide, "Validate stack deployments").
	Early bool
}

// Model is the CloudFormation of one account and region. It is safe for concurrent use.
type Model struct {
	clock   clock.Clock
	account *deploy.Account
	object  func(bucket, key string) ([]byte, bool)
	early   bool

	running context.Context // until Close
	stop    context.CancelFunc
	work    sync.WaitGroup

	engine sync.Mutex // of account, whose methods are called one at a time; taken before mu
	mu     sync.Mutex
	stacks []*stack // the oldest first, deleted ones among them
}

// stack is one that there is, or was. The model's lock guards it.
type stack struct {
	id, name       string
	status, reason string
	description    string
	protected      bool
	keepsFailed    bool // DisableRollback
	role           string
	tags           []tag
	capabilities   []string
	created        time.Time
	updated        time.Time // zero: never
	deleted        time.Time // the same
	body           string    // its template as it was given
	parameters     []parameter
	now            *deploy.Stack // as it was deployed last; nil: never
	resources      map[string]*resource
	outputs        map[string]output
	imports        []string // names of exports
	events         []event  // the oldest first
	changeSets     []*changeSet
	token          string // ClientRequestToken of the operation
}

type resource struct {
	logical, physical, kind, status, reason string
	updated                                 time.Time
}

type output struct{ value, description, export string }

type event struct {
	id, logical, physical, kind, status, reason, token string
	time                                               time.Time
}

type tag struct{ Key, Value string }

type parameter struct {
	ParameterKey     string
	ParameterValue   string
	UsePreviousValue bool   `xml:"-"`
	ResolvedValue    string `xml:",omitempty"`
}

// New returns a model without stacks.
func New(o Options) *Model {
	m := &Model{clock: o.Clock, account: o.Account, object: o.Object, early: o.Early}
	if m.clock == nil {
		m.clock = clock.System()
	}
	m.running, m.stop = context.WithCancel(context.Background())
	return m
}

// Close ends what is under way, and waits for it.
func (m *Model) Close() {
	m.stop()
	m.work.Wait()
}

// Status returns the status of a stack by name, and why it is so; "" where there is none.
func (m *Model) Status(name string) (status, reason string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.find(name); s != nil {
		return s.status, s.reason
	}
	return "", ""
}

// find returns a stack by name, or one that may be deleted by its id; nil where there is none.
func (m *Model) find(nameOrID string) *stack {
	for i := len(m.stacks) - 1; i >= 0; i-- {
		s := m.stacks[i]
		if s.id == nameOrID || s.name == nameOrID && s.status != deleteComplete {
			return s
		}
	}
	return nil
}

// need returns a stack, or the error of those actions that say of a missing one that it does not exist.
func (m *Model) need(nameOrID string) (*stack, error) {
	if nameOrID == "" {
		return nil, invalid("1 validation error detected: Value null at 'stackName' failed to satisfy constraint: Member must not be null")
	}
	if s := m.find(nameOrID); s != nil {
		return s, nil
	}
	return nil, invalid("Stack [%s] does not exist", nameOrID)
}

func invalid(format string, args ...any) *wire.Error {
	return wire.Errorf("ValidationError", format, args...)
}

func notFound(code, format string, args ...any) *wire.Error {
	return wire.StatusErrorf(http.StatusNotFound, code, format, args...)
}

// busy reports whether something is being done to a stack.
func (s *stack) busy() bool {
	return strings.HasSuffix(s.status, "_IN_PROGRESS") && s.status != reviewInProgress
}

// set changes the status of a stack, with an event.
func (m *Model) set(s *stack, status, reason string) {
	s.status, s.reason = status, reason
	m.report(s, event{logical: s.name, physical: s.id, kind: "AWS::CloudFormation::Stack", status: status, reason: reason})
}

// note changes the status of a resource, with an event.
func (m *Model) note(s *stack, id, status, reason string) {
	r := s.resources[id]
	r.status, r.reason, r.updated = status, reason, m.clock.Now()
	m.report(s, event{logical: id, physical: r.physical, kind: r.kind, status: status, reason: reason})
}

func (m *Model) report(s *stack, e event) {
	e.id, e.time, e.token = wire.NewRequestID(), m.clock.Now(), s.token
	if n := len(s.events); n > 0 && !e.time.After(s.events[n-1].time) {
		e.time = s.events[n-1].time.Add(time.Millisecond) // clients go by the order of times
	}
	s.events = append(s.events, e)
}
