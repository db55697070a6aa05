package check

import (
	"fmt"
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	apiv1 "github.com/joiner-sh/joiner/shared/api/v1"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/bench/problem"
)

// Rules of giving nodes back that a Violation can be of, beside those of plans.
const (
	Naming   = "naming"   // replacements have names that nothing else has
	Blocked  = "blocked"  // a node that something keeps is given back
	Budget   = "budget"   // more nodes of a pool than its budgets let go
	Saving   = "saving"   // sums that do not add up, or a move that saves too little
	Complete = "complete" // every node of a pool is given back or kept, with a reason
	Settled  = "settled"  // pods go to a node that has not been left alone for its pool's consolidateAfter
	Guard    = "guard"    // a replacement that may cost more than it replaces, or is what was there
)

// DisruptReport is what there is to say of a plan about giving nodes back.
type DisruptReport struct {
	Violations []Violation
	Removed    int // nodes
	Added      int
	Moved      int // pods
	First      model.MicroUSD
	Last       model.MicroUSD // per hour, once everything is carried out
}

// Disrupt evaluates a plan about giving nodes of the problem back at nowUnix: where all of its commands are carried out, no
// rule of scheduling is broken and every displaced pod has a place; nothing goes that budgets, policies, pods or people keep;
// sums are right and moves save enough.
func Disrupt(p *problem.Problem, plan *model.DisruptPlan, nowUnix int64) DisruptReport {
	d := &disruptions{checker: newChecker(p), plan: plan, nowUnix: nowUnix, leaves: map[string]int{}, podsOf: map[string][]*corev1.Pod{}}
	for _, pod := range p.Bound {
		d.podsOf[pod.Spec.NodeName] = append(d.podsOf[pod.Spec.NodeName], pod)
	}
	for i := range plan.Commands {
		d.nodes(i)
	}
	for i := range plan.Commands {
		d.pods(i)
		d.savings(i)
		d.guards(i)
	}
	d.names()
	d.budgets()
	d.kept()
	d.prices()
	d.after()
	return d.out
}

// disruptions evaluates one plan.
type disruptions struct {
	*checker
	plan    *model.DisruptPlan
	nowUnix int64
	leaves  map[string]int // command, by node
	podsOf  map[string][]*corev1.Pod
	out     DisruptReport
}

func (d *disruptions) bad(rule, format string, args ...any) {
	d.out.Violations = append(d.out.Violations, Violation{rule, fmt.Sprintf(format, args...)})
}

func command(i int, c *model.PlannedCommand) string {
	return fmt.Sprintf("command %d (%s)", i, c.Reason)
}

// nodes evaluates which nodes a command gives back.
func (d *disruptions) nodes(i int) {
	c := &d.plan.Commands[i]
	if len(c.Nodes) == 0 || len(c.Nodes) > model.MaxCommandNodes || !slices.IsSorted(c.Nodes) {
		d.bad(Counting, "%s has %d nodes, want 1 to %d, sorted", command(i, c), len(c.Nodes), model.MaxCommandNodes)
	}
	for _, name := range c.Nodes {
		n := d.byName[name]
		if n == nil {
			d.bad(Counting, "%s gives back node %s, which there is not", command(i, c), name)
			continue
		}
		if other, twice := d.leaves[name]; twice {
			d.bad(Counting, "%s gives back node %s, and so does command %d", command(i, c), name, other)
		}
		d.leaves[name] = i
		d.out.Removed++
		if why := d.blocked(name, c.Reason); why != "" {
			d.bad(Blocked, "%s gives back node %s: %s", command(i, c), name, why)
		}
	}
}

// displaced returns the pods of a node that are made anew elsewhere.
func (d *disruptions) displaced(name string) []*corev1.Pod {
	return slices.DeleteFunc(slices.Clone(d.podsOf[name]), problem.IsDaemon)
}

// blocked says what forbids giving the node back voluntarily, for the reason; "" where nothing does.
func (d *disruptions) blocked(name, reason string) string {
	node := d.problem.Nodes[slices.IndexFunc(d.problem.Nodes, func(n *corev1.Node) bool { return n.Name == name })]
	if node.Annotations[model.AnnotationNotDisrupt] == "true" {
		return "it is annotated do-not-disrupt"
	}
	pool := d.poolNamed(node.Labels[model.LabelNodePool])
	if pool == nil {
		return "it is of no pool"
	}
	disruption := pool.Spec.Disruption
	displaced := d.displaced(name)
	switch reason {
	case model.ReasonEmpty:
		if len(displaced) > 0 {
			return fmt.Sprintf("it is not empty: %s is there", key(displaced[0]))
		}
	case model.ReasonUnderutilized:
		if disruption.ConsolidationPolicy == "WhenEmpty" {
			return fmt.Sprintf("pool %s gives back empty nodes only", pool.Name)
		}
	default:
		return fmt.Sprintf("nothing of the problem is %s", reason)
	}
	if disruption.ConsolidateAfter.Duration == nil {
		return fmt.Sprintf("pool %s says consolidateAfter Never", pool.Name)
	}
	if quiet := d.quietSeconds(name); quiet < int64(disruption.ConsolidateAfter.Seconds()) {
		return fmt.Sprintf("its last pod came %d s ago, pool %s says consolidateAfter %s", quiet, pool.Name, disruption.ConsolidateAfter)
	}
	for _, pod := range d.podsOf[name] {
		if why := d.keeps(pod); why != "" {
			return why
		}
	}
	return ""
}

// quietSeconds returns how long ago the last pod came to the node that belongs to no daemon; for ever where none did.
func (d *disruptions) quietSeconds(name string) int64 {
	last := int64(0)
	for _, pod := range d.displaced(name) {
		if pod.Status.StartTime != nil {
			last = max(last, pod.Status.StartTime.Unix())
		}
	}
	return d.nowUnix - last
}

// keeps says what forbids that the pod is evicted, "" where nothing does.
func (d *disruptions) keeps(pod *corev1.Pod) string {
	switch text := pod.Annotations[model.AnnotationNotDisrupt]; text {
	case "":
	case "true":
		return key(pod) + " is annotated do-not-disrupt"
	default:
		after, err := time.ParseDuration(text)
		if err == nil && d.nowUnix < pod.Status.StartTime.Unix()+int64(after.Seconds()) {
			return fmt.Sprintf("%s is annotated do-not-disrupt for %s", key(pod), after)
		}
	}
	if problem.IsDaemon(pod) {
		return ""
	}
	matching := 0
	for _, budget := range d.problem.Budgets {
		if budget.Namespace != pod.Namespace || !selected(budget.Spec.Selector, pod) {
			continue
		}
		if matching++; matching > 1 {
			return fmt.Sprintf("two PodDisruptionBudgets speak of %s, so that it cannot be evicted", key(pod))
		}
		if budget.Status.DisruptionsAllowed <= 0 {
			return fmt.Sprintf("PodDisruptionBudget %s forbids that %s is evicted", budget.Name, key(pod))
		}
	}
	return ""
}

// pods evaluates that a command says of each displaced pod once where it goes, and of no other.
func (d *disruptions) pods(i int) {
	c := &d.plan.Commands[i]
	times := map[string]int{}
	for _, m := range c.Moves {
		d.destination(i, m.Node)
		for _, pod := range m.Pods {
			times[pod.Key()]++
		}
	}
	for j := range c.Replacements {
		for _, pod := range c.Replacements[j].Pods {
			times[pod.Key()]++
		}
	}
	displaced := map[string]bool{}
	for _, name := range c.Nodes {
		for _, pod := range d.displaced(name) {
			displaced[key(pod)] = true
			if n := times[key(pod)]; n != 1 {
				d.bad(Counting, "%s says %d times where %s of %s goes", command(i, c), n, key(pod), name)
			}
		}
	}
	for _, name := range sortedKeys(times) {
		if !displaced[name] {
			d.bad(Counting, "%s moves %s, which is on none of its nodes", command(i, c), name)
		}
	}
	if c.PodsMoved != len(displaced) {
		d.bad(Counting, "%s says it moves %d pods, and %d are on its nodes", command(i, c), c.PodsMoved, len(displaced))
	}
	d.out.Moved += len(displaced)
	d.out.Added += len(c.Replacements)
	if len(displaced) == 0 && len(c.Replacements) > 0 {
		d.bad(Saving, "%s buys %d nodes and moves no pod", command(i, c), len(c.Replacements))
	}
}

// destination evaluates a node that a command moves pods to: it stays, and has been left alone for as long as its own pool
// wants, or is the replacement of a command before.
func (d *disruptions) destination(i int, name string) {
	c := &d.plan.Commands[i]
	if leaves, given := d.leaves[name]; given {
		d.bad(Counting, "%s moves pods to node %s, which command %d gives back", command(i, c), name, leaves)
		return
	}
	if n := d.byName[name]; n != nil {
		pool := d.poolNamed(n.labels[model.LabelNodePool])
		if pool == nil || pool.Spec.Disruption.ConsolidateAfter.Duration == nil {
			return
		}
		if quiet := d.quietSeconds(name); quiet < int64(pool.Spec.Disruption.ConsolidateAfter.Seconds()) {
			d.bad(Settled, "%s moves pods to node %s, whose last pod came %d s ago", command(i, c), name, quiet)
		}
		return
	}
	for j := range i {
		if slices.ContainsFunc(d.plan.Commands[j].Replacements, func(r model.PlannedClaim) bool { return r.Name == name }) {
			return
		}
	}
	d.bad(Counting, "%s moves pods to node %s, which there is not", command(i, c), name)
}

// What a move must save: one hundredth of what it gives back, and a tenth of a cent per hour.
const (
	leastPercent = 1
	leastSaving  = model.MicroUSD(1000)
)

// savings evaluates what a command says it saves.
func (d *disruptions) savings(i int) {
	c := &d.plan.Commands[i]
	before, after := model.MicroUSD(0), model.MicroUSD(0)
	for _, name := range c.Nodes {
		before += d.price(name)
	}
	for j := range c.Replacements {
		after += c.Replacements[j].Price
	}
	if c.Savings != before-after {
		d.bad(Saving, "%s says it saves $%v/h, and what it gives back costs $%v/h, what it buys $%v/h", command(i, c), c.Savings.USD(), before.USD(), after.USD())
	}
	if least := max(leastSaving, before*leastPercent/100); c.Reason == model.ReasonUnderutilized && before-after < least {
		d.bad(Saving, "%s saves $%v/h, want at least $%v/h", command(i, c), (before - after).USD(), least.USD())
	}
}

// guards evaluates what a move to cheaper nodes may turn out to be. Spot is not replaced by spot, unless people ask for it,
// which problems do not. Whatever acceptable type comes, in whatever zone, the command does not cost more than before. No
// replacement is bought as a node that it replaces.
func (d *disruptions) guards(i int) {
	c := &d.plan.Commands[i]
	if c.Reason != model.ReasonUnderutilized || len(c.Replacements) == 0 {
		return
	}
	spot, offerings, before := true, map[model.OfferingKey]string{}, 0.0
	for _, name := range c.Nodes {
		if n := d.byName[name]; n != nil {
			o := model.OfferingKey{InstanceType: n.labels[model.LabelInstanceType], Zone: n.labels[model.LabelZone], CapacityType: n.labels[model.LabelCapacityType]}
			spot, offerings[o], before = spot && o.CapacityType == model.Spot, name, before+d.price(name).USD()
		}
	}
	worst := 0.0
	for j := range c.Replacements {
		r := &c.Replacements[j]
		if spot && slices.Contains(r.CapacityTypes, model.Spot) {
			d.bad(Guard, "%s gives back spot nodes only, and %s may be spot", command(i, c), r.Name)
		}
		if name, same := offerings[r.Offering]; same {
			d.bad(Guard, "%s buys %s as %s in %s, which node %s is", command(i, c), r.Name, r.Offering.InstanceType, r.Offering.Zone, name)
		}
		worst += d.worst(r)
	}
	if worst > before {
		d.bad(Guard, "%s gives back $%v/h, and what it buys may cost $%v/h", command(i, c), before, worst)
	}
}

// worst returns the most that a claim may cost per hour: it is launched as the first of reserved, spot and on demand that is
// there of a type, in any zone it accepts.
func (d *disruptions) worst(r *model.PlannedClaim) float64 {
	most := 0.0
	for _, name := range r.InstanceTypes {
		t := d.types[name]
		if t == nil {
			continue // said elsewhere
		}
		for _, capacityType := range []string{model.Reserved, model.Spot, model.OnDemand} {
			highest := 0.0
			for _, o := range t.Offerings {
				if o.Available && o.CapacityType == capacityType && slices.Contains(r.CapacityTypes, capacityType) && slices.Contains(r.Zones, o.Zone) {
					highest = max(highest, o.Price.USD())
				}
			}
			if highest > 0 {
				most = max(most, highest)
				break
			}
		}
	}
	return most
}

// price returns what a node of a pool costs per hour.
func (d *disruptions) price(name string) model.MicroUSD {
	n := d.byName[name]
	if n == nil || n.labels[model.LabelNodePool] == "" || d.types[n.labels[model.LabelInstanceType]] == nil {
		return 0
	}
	for _, o := range d.types[n.labels[model.LabelInstanceType]].Offerings {
		if o.Zone == n.labels[model.LabelZone] && o.CapacityType == n.labels[model.LabelCapacityType] {
			return o.Price
		}
	}
	return 0
}

// names evaluates the names of replacements.
func (d *disruptions) names() {
	taken := map[string]bool{}
	for _, node := range d.problem.Nodes {
		taken[node.Name], taken["claim-"+node.Name] = true, true
	}
	for i := range d.plan.Commands {
		for _, r := range d.plan.Commands[i].Replacements {
			if taken[r.Name] {
				d.bad(Naming, "command %d buys %s, and there is one of that name", i, r.Name)
			}
			taken[r.Name] = true
			if problems := validation.IsDNS1123Label(r.Name); len(problems) > 0 {
				d.bad(Naming, "command %d buys %q: %s", i, r.Name, problems[0])
			}
		}
	}
}

// budgets evaluates that no pool has more nodes leaving, whatever the reason, than each command's budgets let go when its turn
// comes.
func (d *disruptions) budgets() {
	size, leaving := map[string]int{}, map[string]int{}
	for _, node := range d.problem.Nodes {
		size[node.Labels[model.LabelNodePool]]++
	}
	for i := range d.plan.Commands {
		c := &d.plan.Commands[i]
		pools := map[string]bool{}
		for _, name := range c.Nodes {
			if n := d.byName[name]; n != nil {
				pool := n.labels[model.LabelNodePool]
				leaving[pool]++
				pools[pool] = true
			}
		}
		for _, name := range sortedKeys(pools) {
			if limit := d.limit(name, c.Reason, size[name]); leaving[name] > limit {
				d.bad(Budget, "with %s %d of %d nodes of pool %s are leaving, its budgets let %d go", command(i, c), leaving[name], size[name], name, limit)
			}
		}
	}
}

// limit returns how many nodes of a pool may leave at once for a reason. No budget of problems has a schedule.
func (d *disruptions) limit(pool, reason string, size int) int {
	limit := math.MaxInt
	p := d.poolNamed(pool)
	if p == nil {
		return 0
	}
	for _, b := range p.Spec.Disruption.Budgets {
		if len(b.Reasons) > 0 && !slices.ContainsFunc(b.Reasons, func(r apiv1.DisruptionReason) bool { return string(r) == reason }) {
			continue
		}
		limit = min(limit, nodesOf(b.Nodes, size))
	}
	return limit
}

// nodesOf reads "3" or "10%" of so many nodes, rounded up.
func nodesOf(text string, size int) int {
	var n int
	if _, err := fmt.Sscanf(text, "%d", &n); err != nil {
		return 0
	}
	if text[len(text)-1] == '%' {
		return (n*size + 99) / 100
	}
	return n
}

// kept evaluates that every node of a pool is in a command or kept for a reason.
func (d *disruptions) kept() {
	times := map[string]int{}
	for i, k := range d.plan.Kept {
		times[k.Node]++
		if i > 0 && d.plan.Kept[i-1].Node >= k.Node {
			d.bad(Complete, "kept nodes %s and %s are not in order", d.plan.Kept[i-1].Node, k.Node)
		}
		if len(k.Reasons) == 0 || slices.ContainsFunc(k.Reasons, func(r model.KeptReason) bool { return r.Code == "" || r.Message == "" }) {
			d.bad(Complete, "node %s is kept without saying why: %+v", k.Node, k.Reasons)
		}
	}
	for _, node := range d.problem.Nodes {
		n := times[node.Name]
		if _, leaves := d.leaves[node.Name]; leaves {
			n++
		}
		if node.Labels[model.LabelNodePool] != "" && n != 1 {
			d.bad(Complete, "node %s is in the plan %d times", node.Name, n)
		}
	}
}

// prices evaluates the price before and after.
func (d *disruptions) prices() {
	for _, node := range d.problem.Nodes {
		d.out.First += d.price(node.Name)
	}
	d.out.Last = d.out.First
	for i := range d.plan.Commands {
		d.out.Last -= d.plan.Commands[i].Savings
	}
	if d.plan.PriceBefore != d.out.First || d.plan.PriceAfter != d.out.Last {
		d.bad(Saving, "the plan says $%v/h before and $%v/h after, its nodes and commands say $%v/h and $%v/h",
			d.plan.PriceBefore.USD(), d.plan.PriceAfter.USD(), d.out.First.USD(), d.out.Last.USD())
	}
}

// after evaluates the cluster that the commands lead to as a plan for the pods they displace.
func (d *disruptions) after() {
	p := *d.problem
	p.Nodes, p.Bound, p.Pods = nil, nil, nil
	for _, node := range d.problem.Nodes {
		if _, leaves := d.leaves[node.Name]; !leaves {
			p.Nodes = append(p.Nodes, node)
		}
	}
	for _, pod := range d.problem.Bound {
		if _, leaves := d.leaves[pod.Spec.NodeName]; !leaves {
			p.Bound = append(p.Bound, pod)
		} else if !problem.IsDaemon(pod) {
			p.Pods = append(p.Pods, pod)
		}
	}
	var plan model.Plan
	claims := map[string]int{}
	for i := range d.plan.Commands {
		for _, r := range d.plan.Commands[i].Replacements {
			claims[r.Name] = len(plan.Claims)
			plan.Claims = append(plan.Claims, r)
		}
	}
	for i := range d.plan.Commands {
		for _, m := range d.plan.Commands[i].Moves {
			if at, later := claims[m.Node]; later {
				plan.Claims[at].Pods = slices.Concat(plan.Claims[at].Pods, m.Pods)
				continue
			}
			plan.Nominations = append(plan.Nominations, m)
		}
	}
	for _, v := range Plan(&p, FromPlan(plan)).Violations {
		if v.Rule != Flexibility { // types that would not save anything are not to be accepted
			d.out.Violations = append(d.out.Violations, v)
		}
	}
}

func selected(selector *metav1.LabelSelector, pod *corev1.Pod) bool {
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && parsed.Matches(labels.Set(pod.Labels))
}
