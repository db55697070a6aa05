package proof

import (
	"fmt"
	"math"
	"sync"
)

// Prices, in US dollars, are what the most expensive region of AWS's own partition asks, rounded up, of the smallest instances and of
// requests. They bound the cost; the bill is lower.
const (
	instanceHour  = 0.0075 // t4g.nano or t3.nano on demand: 0.0042 in us-east-1
	volumeHour    = 0.004  // 20 GiB of gp3: 0.0022 in us-east-1
	instanceReach = 1.0    // hours that are charged for an instance, which ends itself after twenty minutes
	queueRequest  = 6e-7   // SQS, of 64 KiB that were begun
	bucketRequest = 7e-6   // S3: what a PUT or LIST costs; a GET costs a tenth
	tableKilobyte = 3e-6   // DynamoDB on demand, of a KiB written in a transaction
	busRequest    = 1.5e-6 // EventBridge, of an event of one's own
	InstanceCost  = (instanceHour + volumeHour) * instanceReach
)

// DefaultCeiling is what a run costs at most unless it is set otherwise.
const DefaultCeiling = 1.0

// requestCost is what one request costs at most.
func requestCost(service string, bytes int) float64 {
	switch service {
	case "sqs":
		return queueRequest * math.Ceil(float64(bytes+1)/65536)
	case "s3":
		return bucketRequest
	case "dynamodb":
		return tableKilobyte * math.Ceil(float64(bytes+1)/1024)
	case "events":
		return busRequest
	}
	return 0
}

// OverCeiling says that something would have cost more than what is left.
type OverCeiling struct {
	What                 string
	Cost, Spent, Ceiling float64
}

func (e *OverCeiling) Error() string {
	return fmt.Sprintf("%s would cost up to $%.4f; $%.4f of the ceiling of $%.2f is spent: raise --ceiling", e.What, e.Cost, e.Spent, e.Ceiling)
}

// Budget counts what is spent and refuses what would pass the ceiling. It is safe for concurrent use.
type Budget struct {
	mu      sync.Mutex
	ceiling float64
	spent   float64
	open    bool // cleaning up is never refused
}

// NewBudget returns a budget with nothing spent.
func NewBudget(ceiling float64) *Budget { return &Budget{ceiling: ceiling} }

// Spend counts a cost, or returns an *OverCeiling and counts nothing.
func (p *Budget) Spend(what string, cost float64) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.check(what, cost); err != nil {
		return err
	}
	p.spent += cost
	return nil
}

// Afford returns an *OverCeiling where a cost would pass the ceiling.
func (p *Budget) Afford(what string, cost float64) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.check(what, cost)
}

func (p *Budget) check(what string, cost float64) error {
	if !p.open && p.spent+cost > p.ceiling {
		return &OverCeiling{What: what, Cost: cost, Spent: p.spent, Ceiling: p.ceiling}
	}
	return nil
}

// Spent returns what was spent, in US dollars.
func (p *Budget) Spent() float64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.spent
}

// Open has the budget refuse nothing from now on: what was made must be removed whatever that costs.
func (p *Budget) Open() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open = true
}
