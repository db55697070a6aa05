package dynamodb

// The documents of table operations, as in the DynamoDB API reference.

// AttributeDefinition declares the type of a key attribute: S, N or B.
type AttributeDefinition struct {
	AttributeName string
	AttributeType string
}

// KeySchemaElement is one part of a key: HASH or RANGE.
type KeySchemaElement struct {
	AttributeName string
	KeyType       string
}

// What an index may hold of its items.
const (
	projectAll     = "ALL"
	projectKeys    = "KEYS_ONLY"
	projectInclude = "INCLUDE"
)

// Projection says what an index holds of its items.
type Projection struct {
	ProjectionType   string
	NonKeyAttributes []string `json:",omitempty"`
}

// ProvisionedThroughput is capacity bought in advance; the model never throttles.
type ProvisionedThroughput struct {
	ReadCapacityUnits  int64
	WriteCapacityUnits int64
}

// IndexInput declares a secondary index.
type IndexInput struct {
	IndexName             string
	KeySchema             []KeySchemaElement
	Projection            Projection
	ProvisionedThroughput *ProvisionedThroughput
}

// Tag is a label of a table.
type Tag struct{ Key, Value string }

// CreateTableInput asks CreateTable.
type CreateTableInput struct {
	TableName                 string
	AttributeDefinitions      []AttributeDefinition
	KeySchema                 []KeySchemaElement
	LocalSecondaryIndexes     []IndexInput
	GlobalSecondaryIndexes    []IndexInput
	BillingMode               string
	ProvisionedThroughput     *ProvisionedThroughput
	StreamSpecification       *StreamSpecification
	TableClass                string
	DeletionProtectionEnabled bool
	Tags                      []Tag
}

// StreamSpecification asks for a change stream, which the model does not have.
type StreamSpecification struct{ StreamEnabled bool }

// UpdateTableInput asks UpdateTable. Streams and replicas are not modeled.
type UpdateTableInput struct {
	TableName                   string
	AttributeDefinitions        []AttributeDefinition
	BillingMode                 string
	ProvisionedThroughput       *ProvisionedThroughput
	DeletionProtectionEnabled   *bool
	TableClass                  string
	StreamSpecification         *StreamSpecification
	SSESpecification            *SSESpecification
	GlobalSecondaryIndexUpdates []IndexUpdate
}

// SSESpecification names the key that encrypts a table; without one it is AWS's.
type SSESpecification struct{ KMSMasterKeyId string }

// SSEDescription tells of the key that encrypts a table.
type SSEDescription struct{ SSEType, Status, KMSMasterKeyArn string }

// IndexUpdate is one change of a global index: exactly one of the three.
type IndexUpdate struct {
	Create *IndexInput
	Delete *struct{ IndexName string }
	Update *IndexInput
}

// TableInput names one table.
type TableInput struct{ TableName string }

// TableOutput answers CreateTable, UpdateTable and DeleteTable.
type TableOutput struct{ TableDescription TableDescription }

// DescribeTableOutput answers DescribeTable.
type DescribeTableOutput struct{ Table TableDescription }

// TableDescription describes a table. Times are epoch seconds, sizes bytes.
type TableDescription struct {
	AttributeDefinitions      []AttributeDefinition
	TableName                 string
	KeySchema                 []KeySchemaElement
	TableStatus               string
	CreationDateTime          float64
	ProvisionedThroughput     ThroughputDescription
	TableSizeBytes            int
	ItemCount                 int
	TableArn                  string
	TableId                   string
	BillingModeSummary        *BillingModeSummary `json:",omitempty"`
	LocalSecondaryIndexes     []IndexDescription  `json:",omitempty"`
	GlobalSecondaryIndexes    []IndexDescription  `json:",omitempty"`
	TableClassSummary         *TableClassSummary  `json:",omitempty"`
	DeletionProtectionEnabled bool
	WarmThroughput            *WarmThroughput `json:",omitempty"`
	SSEDescription            *SSEDescription `json:",omitempty"`
}

// WarmThroughput is the load a table takes at once, units per second.
type WarmThroughput struct {
	ReadUnitsPerSecond  int64
	WriteUnitsPerSecond int64
	Status              string
}

// ThroughputDescription describes capacity bought in advance, zero for on-demand tables.
type ThroughputDescription struct {
	NumberOfDecreasesToday int64
	ProvisionedThroughput
}

// BillingModeSummary names the billing mode and since when, epoch seconds.
type BillingModeSummary struct {
	BillingMode                       string
	LastUpdateToPayPerRequestDateTime float64 `json:",omitempty"`
}

// TableClassSummary names the storage class.
type TableClassSummary struct{ TableClass string }

// IndexDescription describes an index.
type IndexDescription struct {
	IndexName             string
	KeySchema             []KeySchemaElement
	Projection            Projection
	IndexStatus           string                 `json:",omitempty"`
	ProvisionedThroughput *ThroughputDescription `json:",omitempty"`
	IndexSizeBytes        int
	ItemCount             int
	IndexArn              string
}

// ListTablesInput asks ListTables.
type ListTablesInput struct {
	ExclusiveStartTableName string
	Limit                   *int
}

// ListTablesOutput answers ListTables, names in order.
type ListTablesOutput struct {
	TableNames             []string
	LastEvaluatedTableName string `json:",omitempty"`
}

// UpdateTimeToLiveInput asks UpdateTimeToLive.
type UpdateTimeToLiveInput struct {
	TableName               string
	TimeToLiveSpecification TimeToLiveSpecification
}

// TimeToLiveSpecification names the attribute that holds the end of an item, an N of epoch seconds.
type TimeToLiveSpecification struct {
	AttributeName string
	Enabled       bool
}

// UpdateTimeToLiveOutput answers UpdateTimeToLive.
type UpdateTimeToLiveOutput struct {
	TimeToLiveSpecification TimeToLiveSpecification
}

// DescribeTimeToLiveOutput answers DescribeTimeToLive.
type DescribeTimeToLiveOutput struct {
	TimeToLiveDescription TimeToLiveDescription
}

// TimeToLiveDescription is ENABLED with the attribute, or DISABLED.
type TimeToLiveDescription struct {
	TimeToLiveStatus string
	AttributeName    string `json:",omitempty"`
}

// UpdateContinuousBackupsInput asks UpdateContinuousBackups.
type UpdateContinuousBackupsInput struct {
	TableName                        string
	PointInTimeRecoverySpecification *struct{ PointInTimeRecoveryEnabled bool }
}

// ContinuousBackupsOutput answers Describe- and UpdateContinuousBackups.
type ContinuousBackupsOutput struct {
	ContinuousBackupsDescription ContinuousBackupsDescription
}

// ContinuousBackupsDescription says whether the table can be restored to a point in time. The model records the
// setting and restores nothing.
type ContinuousBackupsDescription struct {
	ContinuousBackupsStatus        string
	PointInTimeRecoveryDescription struct{ PointInTimeRecoveryStatus string }
}

// TagResourceInput asks TagResource.
type TagResourceInput struct {
	ResourceArn string
	Tags        []Tag
}

// UntagResourceInput asks UntagResource.
type UntagResourceInput struct {
	ResourceArn string
	TagKeys     []string
}

// ListTagsOfResourceInput asks ListTagsOfResource.
type ListTagsOfResourceInput struct{ ResourceArn string }

// ListTagsOfResourceOutput answers ListTagsOfResource, in order of keys.
type ListTagsOfResourceOutput struct{ Tags []Tag }

// DescribeLimitsOutput answers DescribeLimits with the quotas of a new account.
type DescribeLimitsOutput struct {
	AccountMaxReadCapacityUnits  int64
	AccountMaxWriteCapacityUnits int64
	TableMaxReadCapacityUnits    int64
	TableMaxWriteCapacityUnits   int64
}

// DescribeEndpointsOutput answers DescribeEndpoints.
type DescribeEndpointsOutput struct{ Endpoints []Endpoint }

// Endpoint is an address to send requests to and for how long to remember it.
type Endpoint struct {
	Address              string
	CachePeriodInMinutes int64
}

// Empty is a request or answer without members.
type Empty struct{}
