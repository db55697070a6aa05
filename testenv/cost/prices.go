package cost

import "math"

// Item is something AWS bills for by use.
type Item struct {
	Name   string  // of the line, without the service
	Unit   string  // of quantities
	Per    float64 // units one price is for
	USD    float64 // for Per units
	Free   float64 // units each account gets every month, for ever; one installation takes them all here
	Source string  // page of AWS with the price
}

// The services, in the order of the bill.
const (
	serviceSQS      = "SQS"
	serviceDynamoDB = "DynamoDB"
	serviceS3       = "S3"
	serviceLambda   = "Lambda"
	serviceEvents   = "EventBridge"
	serviceWatch    = "CloudWatch"
)

// pricedAt is when prices were last compared with what is said of their sources.
const pricedAt = "2026-06"

// region is what prices are of.
const region = "us-east-1"

const gibibyte = 1 << 30

// prices are list prices of us-east-1, arm64, beyond allowances. What is not here costs nothing as it is used: EC2's, EKS's and IAM's
// API, standard parameters of SSM, rules of EventBridge for events of AWS, transfer within the region, keys that AWS owns, and
// deletes of S3. With a key of one's own KMS asks for $1 a month and $0.03 for 10,000 requests.
var prices = map[string]map[string]Item{
	serviceSQS: {
		"standard": {Name: "requests to standard queues", Unit: "requests", Per: 1e6, USD: 0.40, Free: 1e6, Source: "aws.amazon.com/sqs/pricing"},
		"fifo":     {Name: "requests to FIFO queues", Unit: "requests", Per: 1e6, USD: 0.50, Source: "aws.amazon.com/sqs/pricing"},
	},
	serviceDynamoDB: {
		"read":    {Name: "read request units", Unit: "units", Per: 1e6, USD: 0.125, Source: "aws.amazon.com/dynamodb/pricing/on-demand"},
		"write":   {Name: "write request units", Unit: "units", Per: 1e6, USD: 0.625, Source: "aws.amazon.com/dynamodb/pricing/on-demand"},
		"storage": {Name: "storage", Unit: "GB", Per: 1, USD: 0.25, Free: 25, Source: "aws.amazon.com/dynamodb/pricing/on-demand"},
		"backup":  {Name: "point-in-time recovery", Unit: "GB", Per: 1, USD: 0.20, Source: "aws.amazon.com/dynamodb/pricing/on-demand"},
	},
	serviceS3: {
		"put":     {Name: "PUT and LIST", Unit: "requests", Per: 1e6, USD: 5, Source: "aws.amazon.com/s3/pricing"},
		"get":     {Name: "GET", Unit: "requests", Per: 1e6, USD: 0.40, Source: "aws.amazon.com/s3/pricing"},
		"storage": {Name: "storage", Unit: "GB", Per: 1, USD: 0.023, Source: "aws.amazon.com/s3/pricing"},
	},
	serviceLambda: {
		"request": {Name: "requests", Unit: "requests", Per: 1e6, USD: 0.20, Free: 1e6, Source: "aws.amazon.com/lambda/pricing"},
		"compute": {Name: "compute", Unit: "GB-s", Per: 1, USD: 0.0000133334, Free: 400_000, Source: "aws.amazon.com/lambda/pricing"},
	},
	serviceEvents: {
		// AWS bills no events of its own, and says nothing of those a rule makes by the clock: at list price they are custom events here.
		"tick": {Name: "scheduled events", Unit: "events", Per: 1e6, USD: 1, Free: math.Inf(1), Source: "aws.amazon.com/eventbridge/pricing"},
	},
	serviceWatch: {
		"log":       {Name: "logs ingested", Unit: "GB", Per: 1, USD: 0.50, Free: 5, Source: "aws.amazon.com/cloudwatch/pricing"},
		"logs":      {Name: "logs stored", Unit: "GB", Per: 1, USD: 0.03, Source: "aws.amazon.com/cloudwatch/pricing"},
		"alarm":     {Name: "alarms", Unit: "metrics", Per: 1, USD: 0.10, Free: 10, Source: "aws.amazon.com/cloudwatch/pricing"},
		"dashboard": {Name: "dashboards", Unit: "dashboards", Per: 1, USD: 3, Free: 3, Source: "aws.amazon.com/cloudwatch/pricing"},
	},
}
