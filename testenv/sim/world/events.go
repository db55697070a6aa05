package world

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/local/cloud/reading"
	"github.com/joiner-sh/joiner/testenv/sim/eventqueue"
)

// Events is EventBridge with the rules that send what AWS says of instances to the queue of notices: at least once as a rule,
// within seconds, and sometimes late or never.
type Events struct {
	now     func() time.Time
	log     *Log
	queue   *Queue
	rand    *rand.Rand // nil: every event is given once, after the least delay
	options EventOptions

	mu         sync.Mutex
	eventQueue eventqueue.Queue
	sent       int
	chances    EventChances
	lose       int
}

// EventOptions say how events travel.
type EventOptions struct {
	Account, Region string
	Delay           Span         // from what happened until the message is in the queue
	Readings        *reading.Set // of how a spot warning names its instance; nil = what the environment says
}

// EventChances say how often an event goes wrong, each between 0 and 1. Late ones come up to half an hour late, doubled ones
// the second time up to a minute later.
type EventChances struct{ Lost, Doubled, Late float64 }

// NewEvents returns a bus in front of a queue.
func NewEvents(now func() time.Time, log *Log, queue *Queue, random *rand.Rand, options EventOptions) *Events {
	return &Events{now: now, log: log, queue: queue, rand: random, options: options}
}

// SetChances replaces the chances.
func (e *Events) SetChances(c EventChances) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.chances = c
}

// LoseNext loses the next n events.
func (e *Events) LoseNext(n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lose = n
}

// Heal lets every event come from now on.
func (e *Events) Heal() {
	e.SetChances(EventChances{})
	e.LoseNext(0)
}

// Next returns when an event arrives next.
func (e *Events) Next() (time.Time, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.eventQueue.Next()
}

// Run puts into the queue what has arrived.
func (e *Events) Run(now time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	_ = e.log.As("", func() error { e.eventQueue.Run(now); return nil })
}

// event is one of EventBridge. Source: EventBridge user guide, AWS service events.
type event struct {
	Version    string    `json:"version"`
	ID         string    `json:"id"`
	DetailType string    `json:"detail-type"`
	Source     string    `json:"source"`
	Account    string    `json:"account"`
	Time       time.Time `json:"time"`
	Region     string    `json:"region"`
	Resources  []string  `json:"resources"`
	Detail     any       `json:"detail"`
}

// emit sends an event of a kind about instances on its way.
func (e *Events) emit(kind model.NoticeKind, source, detailType string, detail any, ids ...string) {
	e.mu.Lock()
	of := e.options
	e.mu.Unlock()
	resources := []string{}
	for _, id := range ids {
		resources = append(resources, fmt.Sprintf("arn:aws:ec2:%s:%s:instance/%s", of.Region, of.Account, id))
	}
	e.emitOf(kind, source, detailType, detail, ids, resources)
}

// shifted returns what emits the events of ARC about a cluster, by their detail type.
func (e *Events) shifted(cluster string) func(detailType string) {
	arn := "arn:aws:eks:" + e.options.Region + ":" + e.options.Account + ":cluster/" + cluster
	return func(detailType string) {
		e.emitOf(model.NoticeZonalShift, "aws.arc-zonal-shift", detailType, struct{}{}, nil, []string{arn})
	}
}

// emitOf is emit with the names the event has of the instances.
func (e *Events) emitOf(kind model.NoticeKind, source, detailType string, detail any, ids, resources []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sent++
	what := event{
		Version: "0", ID: fmt.Sprintf("00000000-0000-4000-8000-%012d", e.sent), DetailType: detailType, Source: source, Account: e.options.Account,
		Time: e.now().UTC().Truncate(time.Second), Region: e.options.Region, Resources: resources, Detail: detail,
	}
	body, err := json.Marshal(what)
	if err != nil {
		panic(fmt.Sprintf("encode an event: %v", err)) // plain data
	}
	moved := EventMoved{Kind: string(kind), IDs: ids, Verb: "send", Late: e.options.Delay.draw(e.rand)}
	again := time.Duration(-1)
	switch {
	case e.lose > 0:
		e.lose--
		moved.Verb = "lost"
	case e.by(e.chances.Lost):
		moved.Verb = "lost"
	case e.by(e.chances.Late):
		moved.Verb, moved.Late = "late", Span{Min: moved.Late, Max: maxLate}.draw(e.rand)
	case e.by(e.chances.Doubled):
		moved.Verb, again = "doubled", Span{Min: moved.Late, Max: time.Minute}.draw(e.rand)
	}
	if moved.Verb == "lost" {
		moved.Late = 0
		e.log.Note(moved)
		return
	}
	e.log.Note(moved)
	e.deliver(string(body), moved.Late)
	if again >= 0 {
		e.deliver(string(body), again)
	}
}

// deliver puts a message into the queue after a while. EventBridge goes on trying for a day where the queue does not answer.
func (e *Events) deliver(body string, after time.Duration) {
	e.eventQueue.Add(e.now().Add(after), func() {
		if _, err := e.queue.Send(context.Background(), Outgoing{Body: body}); err != nil {
			e.deliver(body, 20*time.Second)
		}
	})
}

func (e *Events) by(chance float64) bool {
	return chance > 0 && e.rand != nil && e.rand.Float64() < chance
}

// stateChanged tells of an instance that entered a state. The rule passes on only those that name an end.
func (e *Events) stateChanged(id, state string) {
	kind := model.NoticeStopped
	switch state {
	case stateShuttingDown, stateTerminated:
		kind = model.NoticeTerminated
	case stateStopping, stateStopped:
	default:
		return
	}
	e.emit(kind, "aws.ec2", "EC2 Instance State-change Notification", map[string]string{"instance-id": id, "state": state}, id)
}

// interrupted tells of a spot instance that will be taken away. Whether the event names it by its zone or by region and account is read in
// two ways.
func (e *Events) interrupted(id, zone string) {
	const what = "EC2 Spot Instance Interruption Warning"
	detail := map[string]string{"instance-id": id, "instance-action": "terminate"}
	if e.options.Readings.Takes(reading.EventResource) {
		e.emit(model.NoticeSpotInterrupted, "aws.ec2", what, detail, id)
		return
	}
	e.emitOf(model.NoticeSpotInterrupted, "aws.ec2", what, detail, []string{id}, []string{fmt.Sprintf("arn:aws:ec2:%s:instance/%s", zone, id)})
}

// rebalance tells of a spot instance that may be taken away one day.
func (e *Events) rebalance(id string) {
	e.emit(model.NoticeRebalance, "aws.ec2", "EC2 Instance Rebalance Recommendation", map[string]string{"instance-id": id}, id)
}

// Health tells of a scheduled change of instances, as AWS Health does.
func (e *Events) Health(code string, ids ...string) {
	entities := make([]map[string]string, 0, len(ids))
	for _, id := range ids {
		entities = append(entities, map[string]string{"entityValue": id})
	}
	e.emit(model.NoticeScheduledChange, "aws.health", "AWS Health Event", map[string]any{
		"service": "EC2", "eventTypeCode": code, "eventTypeCategory": "scheduledChange", "affectedEntities": entities,
	}, ids...)
}

// Foreign tells of an instance of another account or region, as a forged event, or a bus that is shared, would.
func (e *Events) Foreign(account, region, id string) {
	e.mu.Lock()
	options := e.options
	e.options.Account, e.options.Region = account, region
	e.mu.Unlock()
	e.interrupted(id, region+"a")
	e.mu.Lock()
	e.options = options
	e.mu.Unlock()
}
