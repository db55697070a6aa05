package proof

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/aws-sdk-go-v2/service/sts"
)

// Options say how a run differs from the default one.
type Options struct {
	Config   aws.Config
	Clock    Clock   // nil: the instance's
	Run      string  // id; "": a new one
	Owner    string  // value of TagOwner; "": the caller's ARN
	Ceiling  float64 // US dollars; 0: DefaultCeiling
	Yes      bool    // make things; false: dry runs only
	Cluster  string
	Subnet   string
	Source   string // who answers: "aws", or what stands in its place
	Build    string // of this program
	Record   io.Writer
	Progress func(string) // nil: nobody learns
}

// Report is what a run came to.
type Report struct {
	Run     string   `json:"run"`
	Source  string   `json:"source"`
	Region  string   `json:"region"`
	Results []Result `json:"results"`
	Spent   float64  `json:"spentDollars"` // at most
	Ceiling float64  `json:"ceilingDollars"`
	Cleaned int      `json:"cleaned"` // things removed that earlier runs had left
	Left    []Thing  `json:"left"`    // what could not be removed
	Errors  []string `json:"errors,omitempty"`
}

// Count returns how many results have a verdict.
func (r *Report) Count(v Verdict) int {
	n := 0
	for _, x := range r.Results {
		if x.Verdict == v {
			n++
		}
	}
	return n
}

// SharedCost is what probes share at most, in US dollars: a role, a bucket, a table, and the requests to find what earlier runs left.
const SharedCost = 0.001

// Estimate is what probes cost at most together.
func Estimate(probes []Probe) float64 {
	sum := SharedCost
	for _, p := range probes {
		sum += p.Cost
	}
	return sum
}

// Choose returns the probes that are wanted, in their order. A word is an id, or a service, which stands for all of its probes.
// The error names a word that is neither.
func Choose(all []Probe, only, skip []string) ([]Probe, error) {
	fits := func(p Probe, words []string) bool {
		return slices.Contains(words, p.ID) || slices.Contains(words, p.Service)
	}
	for flag, words := range map[string][]string{"--only": only, "--skip": skip} {
		for _, word := range words {
			if !slices.ContainsFunc(all, func(p Probe) bool { return fits(p, []string{word}) }) {
				return nil, fmt.Errorf("%s names %q, which is no probe and no service: see joiner proof --list", flag, word)
			}
		}
	}
	var out []Probe
	for _, p := range all {
		if (len(only) == 0 || fits(p, only)) && !fits(p, skip) {
			out = append(out, p)
		}
	}
	return out, nil
}

// NewRun returns the id of a run: lower case letters and digits, the time first.
func NewRun(now time.Time) string {
	return now.UTC().Format("0102t1504") + strings.ToLower(rand.Text()[:5])
}

// Open finds out who calls and returns what probes work with.
func Open(ctx context.Context, o Options) (*Env, error) {
	e, err := newEnv(o)
	if err != nil {
		return nil, err
	}
	return e, e.ask(ctx, o)
}

// ask asks AWS who calls. The record has nothing of that: it knows only afterwards what it is to keep to itself.
func (e *Env) ask(ctx context.Context, o Options) error {
	config := o.Config.Copy()
	config.HTTPClient = e.next
	who, err := sts.NewFromConfig(config).GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil {
		return fmt.Errorf("ask who calls: %w", err)
	}
	return e.name(aws.ToString(who.Account), aws.ToString(who.Arn))
}

// newEnv has everything but who calls.
func newEnv(o Options) (*Env, error) {
	if o.Clock == nil {
		o.Clock = SystemClock()
	}
	if o.Ceiling == 0 {
		o.Ceiling = DefaultCeiling
	}
	if o.Run == "" {
		o.Run = NewRun(o.Clock.Now())
	}
	if o.Config.Region == "" {
		return nil, errors.New("no region; set AWS_REGION or give --region")
	}
	budget, scrub := NewBudget(o.Ceiling), NewScrubber()
	next := Doer(o.Config.HTTPClient)
	if o.Config.HTTPClient == nil {
		next = &http.Client{Timeout: time.Minute}
	}
	e := &Env{
		Run: o.Run, Owner: o.Owner, Region: o.Config.Region, Cluster: o.Cluster, SubnetID: o.Subnet, ExternalID: o.Run,
		clock: o.Clock, budget: budget, next: next, shared: map[string]*shared{},
		recorder: NewRecorder(budget, scrub, o.Clock.Now, o.Record),
	}
	config := o.Config.Copy()
	config.HTTPClient = e.recorder.Over(next, "")
	e.Clients = newClients(config)
	return e, nil
}

// untaggable is what values of tags do not have in every service.
var untaggable = regexp.MustCompile(`[^\w .:/=+@-]`)

// name tells an Env who calls, and has the record say nothing of it.
func (e *Env) name(account, caller string) error {
	parsed, err := arn.Parse(caller)
	if err != nil {
		return fmt.Errorf("the caller's ARN: %w", err)
	}
	e.Account, e.Caller, e.Partition = account, caller, parsed.Partition
	if e.Owner == "" {
		e.Owner = caller
	}
	e.Owner = untaggable.ReplaceAllString(e.Owner, "_")
	e.Hide(e.Owner, "owner")
	e.Hide(caller, "arn:"+e.Partition+":iam::"+scrubbedAccount+":role/caller")
	if _, session, ok := strings.Cut(parsed.Resource, "/"); ok {
		for _, part := range strings.Split(session, "/") {
			if len(part) > 3 {
				e.Hide(part, "caller")
			}
		}
	}
	e.Hide(account, scrubbedAccount)
	if e.Cluster != "" {
		for _, around := range [][2]string{{":cluster/", ""}, {"/clusters/", ""}, {"access-entry/", "/"}, {`"clusterName":"`, `"`}} {
			e.Hide(around[0]+e.Cluster+around[1], around[0]+"cluster"+around[1])
		}
		for i := range 9 {
			value := fmt.Sprintf("Tags.member.%d.Value=", i)
			e.Hide(value+e.Cluster, value+"cluster")
		}
		e.Hide("<Value>"+e.Cluster+"</Value>", "<Value>cluster</Value>")
	}
	return nil
}

// Run removes what earlier runs have left, runs the probes one after another, and removes what they made. An error of the whole is
// about the run itself, and the report is whole as far as it goes.
func Run(ctx context.Context, o Options, probes []Probe) (*Report, error) {
	e, err := newEnv(o)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, p := range probes {
		ids = append(ids, p.ID)
	}
	source := o.Source
	if err := e.recorder.write(line{Head: &Head{
		Format: recordFormat, Source: source, Evidence: source == "aws", Run: e.Run, Begun: e.Now().UTC(), Build: o.Build,
		Region: e.Region, Subnet: o.Subnet, Cluster: o.Cluster != "", Yes: o.Yes, Probes: ids,
	}}); err != nil {
		return nil, err
	}
	if err := e.ask(ctx, o); err != nil {
		return nil, err
	}
	return e.run(ctx, o, probes)
}

func (e *Env) run(ctx context.Context, o Options, probes []Probe) (*Report, error) {
	progress := o.Progress
	if progress == nil {
		progress = func(string) {}
	}
	r := &Report{Run: e.Run, Source: o.Source, Region: e.Region, Ceiling: e.budget.ceiling, Left: []Thing{}}
	if o.Yes {
		if err := e.removeEarlier(ctx, r, progress); err != nil {
			return r, err
		}
	}
	for i, p := range probes {
		result := e.try(ctx, o, p)
		r.Results = append(r.Results, result)
		progress(fmt.Sprintf("%3d/%d %-8s %s%s", i+1, len(probes), result.Verdict, p.ID, because(result.Why)))
		if err := e.recorder.write(line{Result: &result}); err != nil {
			r.Errors = append(r.Errors, err.Error())
			break
		}
	}
	if o.Yes {
		// Whoever interrupts a run wants it to end, not to leave things behind.
		cleaning, stop := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Minute)
		defer stop()
		left, failed := e.Clean(cleaning, progress)
		r.Left = append(r.Left, left...)
		for _, err := range failed {
			r.Errors = append(r.Errors, err.Error())
		}
	}
	r.Spent = e.budget.Spent()
	return r, ctx.Err()
}

func because(why string) string {
	if why == "" {
		return ""
	}
	return ": " + why
}

// removeEarlier removes what runs before this one have left.
func (e *Env) removeEarlier(ctx context.Context, r *Report, progress func(string)) error {
	ctx = withPart(ctx, "clean")
	found, failed := e.Find(ctx)
	for _, err := range failed { // what cannot be looked for now cannot be either at the end, which says so again
		progress("what earlier runs have left: " + err.Error())
	}
	for _, t := range found {
		if err := t.remove(ctx); err != nil {
			return fmt.Errorf("remove %s of an earlier run: %w", t, err)
		}
		progress("removed " + t.String() + " of an earlier run")
		r.Cleaned++
	}
	return nil
}

// try runs one probe, if it may.
func (e *Env) try(ctx context.Context, o Options, p Probe) Result {
	result := Result{ID: p.ID, Service: p.Service, Assumption: p.Assumption, Verdict: Skipped, Expected: expected(p)}
	if result.Why = e.whyNot(o, p); result.Why != "" {
		return result
	}
	if err := ctx.Err(); err != nil {
		result.Why = "the run was interrupted"
		return result
	}
	if err := e.budget.Afford("probe "+p.ID, p.Cost); err != nil {
		result.Why = err.Error()
		return result
	}
	seen, err := p.Run(withPart(ctx, p.ID), e)
	if err != nil {
		result.Verdict, result.Why = Unknown, err.Error()
		return result
	}
	result.Seen = seen
	result.Verdict, result.Reading = Match(p, seen)
	return result
}

func expected(p Probe) []Expected {
	var out []Expected
	for _, r := range p.Readings {
		out = append(out, Expected{r.Name, r.Says, r.Want})
	}
	return out
}

// whyNot says why a probe is not tried; "" where it is.
func (e *Env) whyNot(o Options, p Probe) string {
	switch {
	case !o.Yes && p.Kind != KindDryRuns:
		return fmt.Sprintf("it makes things and costs up to $%.4f: give --yes", p.Cost)
	case p.Needs.Cluster && o.Cluster == "":
		return "it needs an EKS cluster: give --cluster"
	case p.Needs.NotFirstRegion && e.Region == "us-east-1":
		return "it means nothing in us-east-1"
	case p.Needs.NamedCaller && strings.HasSuffix(e.Caller, ":root"):
		return "the caller is the root user, who may assume no role: call as a user or a role"
	}
	return ""
}

// Replay runs probes on the answers of a record and returns what they make of them now. Probes the record does not have are left out.
func Replay(ctx context.Context, recording *Recording, all []Probe) (*Report, error) {
	h, player := recording.Head, NewPlayer(recording)
	o := Options{Clock: player, Run: h.Run, Yes: h.Yes, Subnet: h.Subnet, Source: h.Source, Owner: "owner", Ceiling: 1000}
	if h.Cluster {
		o.Cluster = "cluster"
	}
	o.Config = aws.Config{Region: h.Region, HTTPClient: player, Credentials: nobody{}}
	e, err := newEnv(o)
	if err != nil {
		return nil, err
	}
	if err := e.name(scrubbedAccount, "arn:aws:iam::"+scrubbedAccount+":role/caller"); err != nil {
		return nil, err
	}
	r := &Report{Run: e.Run, Source: o.Source, Region: e.Region, Left: []Thing{}}
	for _, p := range all {
		if slices.Contains(h.Probes, p.ID) {
			r.Results = append(r.Results, e.try(ctx, o, p))
		}
	}
	return r, ctx.Err()
}

// nobody signs what nobody gets to see.
type nobody struct{}

func (nobody) Retrieve(context.Context) (aws.Credentials, error) {
	return aws.Credentials{AccessKeyID: "replay", SecretAccessKey: "replay"}, nil
}
