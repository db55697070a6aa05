package cost

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/joiner-sh/joiner/testenv/local/cloudformation"
)

// Deployment is what of the region's stack is billed for, as its template has it.
type Deployment struct {
	MemoryMB   map[string]float64 // of functions, by logical id
	Standard   Pollers            // of what feeds functions from standard queues
	FIFO       Pollers            // and from FIFO queues
	Alarms     float64            // metrics that alarms look at
	Dashboards float64
	Backups    bool // point-in-time recovery of the table
	LogDays    float64
}

// Pollers are how many of Lambda's pollers ask queues that are idle.
type Pollers struct{ Queues, Pollers float64 }

// Pollers of one idle mapping: five, and two where no maximum concurrency is set. Source: Lambda developer guide, "Configuring scaling
// behavior for SQS event source mappings", which says so of standard queues; nothing is said of FIFO queues, which count alike here.
const (
	pollersBounded = 5
	pollersFree    = 2
)

// asksPerMinute is how often a poller asks an empty queue: by long polls of 20 s, the longest there is.
const asksPerMinute = 3

// ReadDeployment reads templates: of the region's stack and of a cluster's, which has a plan queue of its own.
func ReadDeployment(files ...string) (Deployment, error) {
	d := Deployment{MemoryMB: map[string]float64{}}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return d, err
		}
		template, err := cloudformation.Parse(data)
		if err != nil {
			return d, err
		}
		for id, resource := range template.Resources {
			if err := d.add(template, id, resource); err != nil {
				return d, fmt.Errorf("%s: resource %s: %w", file, id, err)
			}
		}
	}
	return d, nil
}

// properties is what is read of resources.
type properties struct {
	MemorySize      float64
	RetentionInDays float64
	EventSourceArn  struct {
		Of []string `json:"Fn::GetAtt"`
	}
	ScalingConfig                    *struct{}
	Metrics                          []struct{ MetricStat *struct{} }
	PointInTimeRecoverySpecification struct{ PointInTimeRecoveryEnabled bool }
}

func (d *Deployment) add(template *cloudformation.Template, id string, resource cloudformation.Resource) error {
	switch resource.Type {
	case "AWS::Lambda::Function", "AWS::Lambda::EventSourceMapping", "AWS::CloudWatch::Alarm", "AWS::CloudWatch::Dashboard", "AWS::DynamoDB::Table", "AWS::Logs::LogGroup":
	default:
		return nil
	}
	var p properties
	text, err := json.Marshal(resource.Properties)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, &p); err != nil {
		return err
	}
	switch resource.Type {
	case "AWS::Lambda::Function":
		d.MemoryMB[id] = p.MemorySize
	case "AWS::Lambda::EventSourceMapping":
		return d.poll(template, p)
	case "AWS::CloudWatch::Dashboard":
		d.Dashboards++
	case "AWS::CloudWatch::Alarm":
		metrics := 0
		for _, m := range p.Metrics {
			if m.MetricStat != nil {
				metrics++
			}
		}
		d.Alarms += float64(max(1, metrics))
	case "AWS::DynamoDB::Table":
		d.Backups = p.PointInTimeRecoverySpecification.PointInTimeRecoveryEnabled
	case "AWS::Logs::LogGroup":
		d.LogDays = max(d.LogDays, p.RetentionInDays)
	}
	return nil
}

// poll adds the pollers of a mapping.
func (d *Deployment) poll(template *cloudformation.Template, p properties) error {
	if len(p.EventSourceArn.Of) == 0 {
		return fmt.Errorf("its queue is not of this stack")
	}
	name, _ := template.Resources[p.EventSourceArn.Of[0]].Properties["QueueName"].(string)
	to := &d.Standard
	if strings.HasSuffix(name, ".fifo") {
		to = &d.FIFO
	}
	to.Queues++
	to.Pollers += pollersFree
	if p.ScalingConfig != nil {
		to.Pollers += pollersBounded - pollersFree
	}
	return nil
}
