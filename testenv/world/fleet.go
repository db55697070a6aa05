package world

import (
	"context"
	"encoding/json"
	"fmt"
	"sort"
	"sync"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// Fleet sells machines.
type Fleet struct {
	now        func() time.Time
	visibility time.Duration

	mu        sync.Mutex
	machines  []*Machine // in the order they were launched
	tokens    map[string]answer
	stock     map[model.OfferKey]int // what is left; absent = plenty
	broken    map[model.OfferKey]model.LaunchError
	refusals  []error // of the next calls, in order
	templates map[string]bool
	forget    bool
	lose      bool
	surplus   int
	calls     int
}

type answer struct {
	request string
	result  model.LaunchResult
}

// Machine is an instance with what its user data says to it.
type Machine struct {
	model.Instance
	UserData   []byte
	LaunchedAt time.Time
	Terminated bool
	Joined     bool
}

// request is what the fleet's bytes hold.
type request struct {
	Intent       string                 `json:"intent"`
	Token        string                 `json:"token"`
	Class        string                 `json:"class"`
	CapacityType string                 `json:"capacityType"`
	Count        int                    `json:"count"`
	Templates    []model.LaunchTemplate `json:"templates"`
}

func newFleet(now func() time.Time, visibility time.Duration) *Fleet {
	return &Fleet{
		now: now, visibility: visibility, tokens: map[string]answer{}, stock: map[model.OfferKey]int{},
		broken: map[model.OfferKey]model.LaunchError{}, templates: map[string]bool{},
	}
}

// SetCapacity says how many more machines an offer can give.
func (f *Fleet) SetCapacity(offer model.OfferKey, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stock[offer] = n
}

// Break makes every launch from an offer fail with a code; empty fields of the offer match any. The code "" mends it.
func (f *Fleet) Break(offer model.OfferKey, code string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.broken, offer)
	if code != "" {
		f.broken[offer] = model.LaunchError{Code: code, Message: "injected for " + fmt.Sprint(offer)}
	}
}

// RefuseNext makes the next calls fail as a whole, one error each, without any effect.
func (f *Fleet) RefuseNext(errs ...error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refusals = append(f.refusals, errs...)
}

// ForgetBeforeNext deletes every launch template just before the next call, as somebody tidying up would.
func (f *Fleet) ForgetBeforeNext() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.forget = true
}

// LoseNextReply carries the next call out and answers with an error that says nothing.
func (f *Fleet) LoseNextReply() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lose = true
}

// ForgetTokens lets every client token lapse.
func (f *Fleet) ForgetTokens() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tokens = map[string]answer{}
}

// GiveMore makes every launch give n machines more than it was asked for.
func (f *Fleet) GiveMore(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.surplus = n
}

// Request returns the bytes of a launch, and makes its launch template.
func (f *Fleet) Request(_ context.Context, launch model.Launch) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.templates[launch.Class.Name] = true
	return json.Marshal(request{
		Intent: launch.Intent, Token: launch.Token, Class: launch.Class.Name, CapacityType: launch.CapacityType, Count: len(launch.Claims),
		Templates: launch.Templates,
	})
}

// Launch carries a request out; one whose token was used before is answered as before.
func (f *Fleet) Launch(_ context.Context, text []byte) (model.LaunchResult, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	var r request
	if err := json.Unmarshal(text, &r); err != nil {
		return model.LaunchResult{}, fault.Wrap(fault.Invalid, "", err, "decode request")
	}
	if f.forget {
		f.templates, f.forget = map[string]bool{}, false
	}
	if len(f.refusals) > 0 {
		err := f.refusals[0]
		f.refusals = f.refusals[1:]
		return model.LaunchResult{}, err
	}
	if before, used := f.tokens[r.Token]; used {
		if before.request != string(text) {
			return model.LaunchResult{}, fault.New(fault.Conflict, "IdempotentParameterMismatch", "token %s was used for another request", r.Token)
		}
		return clone(before.result), nil
	}
	if !f.templates[r.Class] {
		return model.LaunchResult{}, fault.New(fault.Invalid, "InvalidLaunchTemplateName.NotFoundException", "the launch template of class %s does not exist", r.Class)
	}
	result := f.allocate(r)
	f.tokens[r.Token] = answer{string(text), result}
	if f.lose {
		f.lose = false
		return model.LaunchResult{}, fault.New(fault.Internal, "", "connection reset by peer")
	}
	return clone(result), nil
}

// choice is one pool of capacity of a request.
type choice struct {
	offer    model.OfferKey
	override model.Override
	template model.LaunchTemplate
}

// allocate tries the pools from the cheapest; each that does not give all that is asked of it leaves an error.
func (f *Fleet) allocate(r request) model.LaunchResult {
	var choices []choice
	for _, t := range r.Templates {
		for _, o := range t.Overrides {
			choices = append(choices, choice{model.OfferKey{InstanceType: o.InstanceType, Zone: o.Zone, CapacityType: r.CapacityType}, o, t})
		}
	}
	sort.SliceStable(choices, func(i, j int) bool { return choices[i].override.Price < choices[j].override.Price })
	var result model.LaunchResult
	missing := r.Count
	for _, c := range choices {
		if missing == 0 {
			break
		}
		broken, is := f.failure(c.offer)
		give := missing
		if left, limited := f.stock[c.offer]; limited {
			give = min(missing, left)
			broken = model.LaunchError{Code: "InsufficientInstanceCapacity", Message: "no capacity for " + fmt.Sprint(c.offer)}
		}
		if is {
			give = 0
		}
		if give < missing {
			broken.Offer, broken.SubnetID = c.offer, c.override.SubnetID
			result.Errors = append(result.Errors, broken)
		}
		if _, limited := f.stock[c.offer]; limited {
			f.stock[c.offer] -= give
		}
		missing -= give
		if give > 0 {
			give += f.surplus
		}
		for range give {
			result.Instances = append(result.Instances, f.start(r, c))
		}
	}
	return result
}

func (f *Fleet) failure(offer model.OfferKey) (model.LaunchError, bool) {
	fits := func(pattern, value string) bool { return pattern == "" || pattern == value }
	for pattern, e := range f.broken {
		if fits(pattern.InstanceType, offer.InstanceType) && fits(pattern.Zone, offer.Zone) && fits(pattern.CapacityType, offer.CapacityType) {
			return e, true
		}
	}
	return model.LaunchError{}, false
}

func (f *Fleet) start(r request, c choice) model.Instance {
	machine := &Machine{
		Instance: model.Instance{
			ID: fmt.Sprintf("i-%017x", len(f.machines)+1), Type: c.offer.InstanceType, Zone: c.offer.Zone, CapacityType: c.offer.CapacityType,
			ImageID: c.template.ImageID, SubnetID: c.override.SubnetID, State: "pending", LaunchedUnix: f.now().Unix(),
			Tags: map[string]string{"joiner.sh/intent": r.Intent},
		},
		UserData: c.template.UserData, LaunchedAt: f.now(),
	}
	f.machines = append(f.machines, machine)
	return machine.Instance
}

// Find returns the visible machines of an intent that are not terminated.
func (f *Fleet) Find(_ context.Context, intent string) ([]model.Instance, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []model.Instance
	for _, m := range f.machines {
		if m.Tags["joiner.sh/intent"] == intent && !m.Terminated && f.now().Sub(m.LaunchedAt) >= f.visibility {
			out = append(out, clone(m.Instance))
		}
	}
	return out, nil
}

// Terminate ends a machine.
func (f *Fleet) Terminate(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range f.machines {
		if m.ID == id {
			m.Terminated = true
		}
	}
}

// Machines returns every machine ever launched, in that order.
func (f *Fleet) Machines() []Machine {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := make([]Machine, len(f.machines))
	for i, m := range f.machines {
		out[i] = *m
	}
	return out
}

// Calls returns how often Launch was called.
func (f *Fleet) Calls() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls
}
