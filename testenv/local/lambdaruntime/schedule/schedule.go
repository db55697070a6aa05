package schedule

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/joiner-sh/joiner/testenv/local/cloud/clock"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime/delivery"
)

// Config is what all schedules share. Absent fields get the defaults named.
type Config struct {
	Account string      // 123456789012
	Region  string      // us-east-1
	Clock   clock.Clock // the machine's
	// OnDropped is called when a delivery has been given up; it may be nil.
	OnDropped func(schedule string, err error)
}

// Schedule fires its target when its expression is due.
type Schedule struct {
	Name      string // unique among all groups
	Group     string // "default" where it is empty; of a target of a rule, the rule
	TargetARN string // what NewHandler says of the target; may be empty
	// Expression is rate(value unit), at(yyyy-mm-ddThh:mm:ss) or cron(six fields).
	Expression string
	// Timezone is an IANA name; empty means UTC.
	Timezone string
	// Start and End bound the schedule; zero means unbounded. A rate counts from Start, or from its creation, and is due
	// then for the first time.
	Start, End time.Time
	// Input is what the target receives, not empty. In it <aws.scheduler.schedule-arn>, <aws.scheduler.scheduled-time>,
	// <aws.scheduler.execution-id> and <aws.scheduler.attempt-number> are replaced.
	Input  string
	Target delivery.Target
	// Policy is the retry policy; nil means delivery.Default, which replays old ticks for a day.
	Policy *delivery.Policy
}

func (s *Schedule) group() string { return cmp.Or(s.Group, "default") }

// Scheduler holds schedules. Its methods may be called from any goroutine.
type Scheduler struct {
	config Config
	ctx    context.Context // done after Stop
	cancel context.CancelFunc

	mu      sync.Mutex
	running map[string]*entry // keyed by schedule name
	firing  sync.WaitGroup
}

// entry is one schedule and the wait for its next time.
type entry struct {
	schedule Schedule
	times    expression
	stop     func() bool
	deleted  bool
	disabled bool
}

// New returns a scheduler without schedules.
func New(config Config) *Scheduler {
	if config.Account == "" {
		config.Account = "123456789012"
	}
	if config.Region == "" {
		config.Region = "us-east-1"
	}
	if config.Clock == nil {
		config.Clock = clock.System()
	}
	ctx, cancel := context.WithCancel(context.Background())
	return &Scheduler{config: config, ctx: ctx, cancel: cancel, running: map[string]*entry{}}
}

// Create adds a schedule. The name must be free.
func (s *Scheduler) Create(schedule Schedule) error {
	e, err := newEntry(schedule)
	if err != nil {
		return fmt.Errorf("create schedule %q: %w", schedule.Name, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.ctx.Err(); err != nil {
		return fmt.Errorf("create schedule %q: the scheduler is stopped", schedule.Name)
	}
	if s.running[schedule.Name] != nil {
		return fmt.Errorf("create schedule %q: the name is taken", schedule.Name)
	}
	s.running[schedule.Name] = e
	start := s.config.Clock.Now()
	if schedule.Start.After(start) {
		start = schedule.Start
	}
	s.await(e, e.times.first(start))
	return nil
}

func newEntry(schedule Schedule) (*entry, error) {
	if schedule.Name == "" || schedule.Input == "" || schedule.Target == nil {
		return nil, errors.New("name, input and target are required")
	}
	zone, err := time.LoadLocation(schedule.Timezone)
	if err != nil {
		return nil, fmt.Errorf("timezone: %w", err)
	}
	times, err := parseExpression(schedule.Expression, zone)
	if err != nil {
		return nil, err
	}
	return &entry{schedule: schedule, times: times}, nil
}

// Delete removes the schedule; one that is absent is no error. A delivery under way goes on.
func (s *Scheduler) Delete(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.running[name]; e != nil {
		s.remove(e)
	}
}

// Stop removes all schedules, ends the retries and waits for the targets that are being called. It may be called twice.
func (s *Scheduler) Stop() {
	s.mu.Lock()
	s.cancel()
	for _, e := range s.running {
		s.remove(e)
	}
	s.mu.Unlock()
	s.firing.Wait()
}

// remove is called with the lock held.
func (s *Scheduler) remove(e *entry) {
	e.deleted = true
	if e.stop != nil {
		e.stop()
	}
	delete(s.running, e.schedule.Name)
}

// await plans the schedule's next firing, or removes it when there is none; the caller holds the lock.
func (s *Scheduler) await(e *entry, due time.Time) {
	if due.IsZero() || (!e.schedule.End.IsZero() && !due.Before(e.schedule.End)) {
		s.remove(e)
		return
	}
	e.stop = s.config.Clock.AfterFunc(max(0, due.Sub(s.config.Clock.Now())), func() { s.fire(e, due) })
}

// fire plans the next time and delivers this one. Times that passed while the machine slept are left out.
func (s *Scheduler) fire(e *entry, due time.Time) {
	s.mu.Lock()
	if e.deleted {
		s.mu.Unlock()
		return
	}
	next := e.times.next(due)
	for now := s.config.Clock.Now(); !next.IsZero() && next.Before(now); {
		next = e.times.next(next)
	}
	s.await(e, next)
	if e.disabled {
		s.mu.Unlock()
		return
	}
	s.firing.Add(1)
	s.mu.Unlock()
	defer s.firing.Done()

	policy := delivery.Default
	if e.schedule.Policy != nil {
		policy = *e.schedule.Policy
	}
	delivery.Send(s.ctx, s.config.Clock, policy, s.target(e.schedule, due), []byte(e.schedule.Input), func(err error) {
		if s.config.OnDropped != nil {
			s.config.OnDropped(e.schedule.Name, err)
		}
	})
}

// target fills in the input at each attempt of one firing.
func (s *Scheduler) target(schedule Schedule, due time.Time) delivery.Target {
	executionID := uuid.NewString()
	attempt := 0
	return func(ctx context.Context, payload []byte) error {
		attempt++
		input := strings.NewReplacer(
			"<aws.scheduler.schedule-arn>", "arn:aws:scheduler:"+s.config.Region+":"+s.config.Account+":schedule/"+schedule.group()+"/"+schedule.Name,
			"<aws.scheduler.scheduled-time>", due.UTC().Format(time.RFC3339),
			"<aws.scheduler.execution-id>", executionID,
			"<aws.scheduler.attempt-number>", strconv.Itoa(attempt),
		).Replace(string(payload))
		return schedule.Target(ctx, []byte(input))
	}
}
