package execute

import (
	"context"
	"sync"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/wire"
)

// Inbox is the cluster's queue of requests.
type Inbox interface {
	// Receive waits some seconds for requests, for most at once. None is no error.
	Receive(ctx context.Context, most int) ([]wire.RelayMessage, error)
	// Done removes a request.
	Done(ctx context.Context, receipt string) error
	// Return lets another replica have a request at once.
	Return(ctx context.Context, receipt string) error
}

// Answers keeps what became of requests, for some minutes.
type Answers interface {
	// Start records that the request is about to be carried out. Conflict where it was taken or answered before, by whoever.
	Start(ctx context.Context, request wire.RelayRequest, digest string) error
	// Store stores the answer, where none is stored and nobody but who has this digest took it; else Conflict.
	Store(ctx context.Context, request wire.RelayRequest, digest string, answer wire.RelayAnswer) error
}

// Server is the API server.
type Server interface {
	// Do carries out the request with the permissions of the group. An error means that it is unknown whether it was carried out.
	Do(ctx context.Context, group string, request wire.RelayRequest) (wire.RelayAnswer, error)
}

// Executor carries out the requests of one cluster.
type Executor struct {
	Cluster  string
	Groups   map[string]string // by unique id of a role (AROA…): the group whose permissions its requests have
	Inbox    Inbox
	Answers  Answers
	Server   Server
	Now      func() time.Time
	Pause    func(ctx context.Context, d time.Duration) // after an error of the queue
	Log      func(Note)
	Parallel int // requests at once: 16
}

// Note is one thing that Run did, for the log.
type Note struct {
	What                 string // "carried", "refused", "stale", "repeated", "malformed", "broken", "receive", "answer", "let go"
	Group, Sender        string
	Method, Path, Reason string
	Status               int
	Age                  time.Duration // from when it was sent until it was received
	Took                 time.Duration // from then until its answer was stored
	Err                  error
}

const (
	defaultParallel = 16
	mostAtOnce      = 10               // a queue hands out
	executeWithin   = 10 * time.Second // the API server, and as long for what is stored
	pauseAfter      = time.Second
)

// Run receives requests and carries them out until ctx is done and whatever was begun has ended.
func (c *Executor) Run(ctx context.Context) {
	most := c.Parallel
	if most == 0 {
		most = defaultParallel
	}
	slots := make(chan struct{}, most)
	var underway sync.WaitGroup
	defer underway.Wait()
	for ctx.Err() == nil {
		free := reserve(ctx, slots)
		messages, err := c.Inbox.Receive(ctx, free)
		if err != nil && ctx.Err() == nil {
			c.Log(Note{What: "receive", Err: err})
			c.Pause(ctx, pauseAfter)
		}
		for range free - len(messages) {
			<-slots
		}
		received := c.Now()
		for _, message := range messages {
			underway.Go(func() {
				defer func() { <-slots }()
				c.handle(ctx, message, received)
			})
		}
	}
}

// reserve waits for a slot and takes what else is free, as many as a queue hands out at most.
func reserve(ctx context.Context, slots chan struct{}) int {
	select {
	case slots <- struct{}{}:
	case <-ctx.Done():
		return 0
	}
	for n := 1; n < mostAtOnce; n++ {
		select {
		case slots <- struct{}{}:
		default:
			return n
		}
	}
	return mostAtOnce
}

// handle does with one message what is to be done with it and releases it. What was begun is ended, also when the program
// ends meanwhile; what was not goes to another replica.
func (c *Executor) handle(ctx context.Context, m wire.RelayMessage, received time.Time) {
	if ctx.Err() != nil {
		c.letGo(ctx, m, c.Inbox.Return)
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*executeWithin)
	defer cancel()
	note, again := c.process(ctx, m, received)
	note.Sender, note.Age, note.Took = m.Sender, m.Age, c.Now().Sub(received)
	c.Log(note)
	if again {
		c.Pause(ctx, pauseAfter) // what could not be written now cannot be at once, either
		c.letGo(ctx, m, c.Inbox.Return)
		return
	}
	c.letGo(ctx, m, c.Inbox.Done)
}

// letGo removes or returns a message, whether or not the program is to end.
func (c *Executor) letGo(ctx context.Context, m wire.RelayMessage, how func(context.Context, string) error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), executeWithin)
	defer cancel()
	if err := how(ctx, m.Receipt); err != nil {
		c.Log(Note{What: "let go", Sender: m.Sender, Err: err}) // it comes again, and is known then
	}
}

// process says what is to become of a message and has it done. again means that it was not even begun and may be by another.
func (c *Executor) process(ctx context.Context, m wire.RelayMessage, received time.Time) (note Note, again bool) {
	r, err := wire.DecodeRelayRequest(m.Body)
	if err != nil {
		return Note{What: "malformed", Err: err}, false
	}
	note = Note{Method: r.Method, Path: r.Path, Group: c.Groups[m.Sender]}
	if m.Age+c.Now().Sub(received) >= r.Life() {
		note.What = "stale"
		return note, false // whoever asked has given up
	}
	digest := m.Digest()
	if refusal := c.refuse(m.Sender, r); refusal.Refused != "" {
		note.What, note.Reason = "refused", refusal.Refused
		note.Err = fault.New(fault.Denied, refusal.Refused, "%s", refusal.Message)
		_ = c.keep(ctx, r, digest, refusal) // one that is not kept is made again
		return note, false
	}
	if r.Mutates() {
		switch err := c.Answers.Start(ctx, r, digest); {
		case fault.Is(err, fault.Conflict):
			note.What = "repeated"
			return note, false // its answer is there, or is nobody's any more
		case err != nil:
			note.What, note.Err = "answer", err
			return note, true
		}
		if m.Age+c.Now().Sub(received) >= r.Life() {
			note.What = "stale"
			return note, false
		}
	}
	return c.execute(ctx, r, digest, note), false
}

// execute asks the API server and stores what it said.
func (c *Executor) execute(ctx context.Context, r wire.RelayRequest, digest string, note Note) Note {
	asked, cancel := context.WithTimeout(ctx, executeWithin)
	answer, err := c.Server.Do(asked, note.Group, r)
	cancel()
	note.What, note.Status = "carried", answer.Status
	if err != nil {
		note.What, note.Err = "broken", err
		answer = wire.RelayAnswer{Broken: fault.KindOf(err).String(), Message: err.Error()}
	}
	if err := c.keep(ctx, r, digest, answer); err != nil && note.Err == nil {
		note.Err = err
	}
	return note
}

// keep stores an answer. That one is stored already is no error: it stays as it is.
func (c *Executor) keep(ctx context.Context, r wire.RelayRequest, digest string, answer wire.RelayAnswer) error {
	err := c.Answers.Store(ctx, r, digest, answer)
	if fault.Is(err, fault.Conflict) {
		return nil
	}
	return err
}

// refuse says why a request is not to be carried out, as its answer; no refusal where it is.
func (c *Executor) refuse(sender string, r wire.RelayRequest) wire.RelayAnswer {
	refusal := func(word, format string, args ...any) wire.RelayAnswer {
		return wire.RelayAnswer{Refused: word, Message: fault.New(fault.Denied, "", format, args...).Error()}
	}
	if r.Cluster != c.Cluster {
		return refusal(wire.RelayNotAllowed, "the request is for cluster %s and came to the watcher of %s; its queue is misconfigured", r.Cluster, c.Cluster)
	}
	if c.Groups[sender] == "" {
		return refusal(wire.RelayUnknownSender, "the watcher of cluster %s does not know the role %s; name it in the chart's relay.senders", c.Cluster, sender)
	}
	if why := allowed(r); why != "" {
		return refusal(wire.RelayNotAllowed, "the watcher of cluster %s does not carry out %s %s: %s", c.Cluster, r.Method, r.Path, why)
	}
	return wire.RelayAnswer{}
}
