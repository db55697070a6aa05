package conform

import (
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// another makes a table of its own, like the ledger, and deletes it in the end.
func (l *dynamoLedger) another(t T) (name string) {
	t.Helper()
	name = Unique("table")
	if _, err := l.CreateTable(t.Context(), l.declaration(name)); err != nil {
		t.Fatalf("create table: %v", err)
	}
	if err := dynamodb.NewTableExistsWaiter(l).Wait(t.Context(), &dynamodb.DescribeTableInput{TableName: &name}, time.Minute); err != nil {
		t.Fatalf("await table: %v", err)
	}
	return name
}

func (l *dynamoLedger) tableCases() []Case {
	return []Case{
		{"a table is described and listed", func(t T) {
			name := l.another(t)
			out, err := l.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: &name})
			if err != nil {
				t.Fatalf("describe: %v", err)
			}
			d := out.Table
			if d.TableStatus != types.TableStatusActive || len(d.GlobalSecondaryIndexes) != 2 || d.BillingModeSummary == nil || d.BillingModeSummary.BillingMode != types.BillingModePayPerRequest {
				t.Errorf("described %+v", d)
			}
			var names []string
			for pages := dynamodb.NewListTablesPaginator(l, &dynamodb.ListTablesInput{}); pages.HasMorePages(); {
				page, err := pages.NextPage(t.Context())
				if err != nil {
					t.Fatalf("list: %v", err)
				}
				names = append(names, page.TableNames...)
			}
			if !slices.Contains(names, name) {
				t.Errorf("listed %v, want %s among them", names, name)
			}
		}},
		{"a table is created once and gone when deleted", func(t T) {
			name := l.another(t)
			_, err := l.CreateTable(t.Context(), l.declaration(name))
			wantCode(t, err, "ResourceInUseException")
			if _, err := l.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: &name}); err != nil {
				t.Fatalf("delete: %v", err)
			}
			err = dynamodb.NewTableNotExistsWaiter(l).Wait(t.Context(), &dynamodb.DescribeTableInput{TableName: &name}, time.Minute)
			if err != nil {
				t.Errorf("await the end: %v", err)
			}
			_, err = l.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &name, Item: dynamoKey("a", "b")})
			wantCode(t, err, "ResourceNotFoundException")
		}},
		{"a table declares the attributes of its keys and no other", func(t T) {
			in := l.declaration(Unique("table"))
			in.AttributeDefinitions = in.AttributeDefinitions[1:]
			_, err := l.CreateTable(t.Context(), in)
			wantCode(t, err, "ValidationException")
			in = l.declaration(Unique("table"))
			in.GlobalSecondaryIndexes = in.GlobalSecondaryIndexes[:1]
			_, err = l.CreateTable(t.Context(), in)
			wantCode(t, err, "ValidationException")
		}},
		{"time to live is off until it is switched on", func(t T) {
			name := l.another(t)
			describe := func() *types.TimeToLiveDescription {
				out, err := l.DescribeTimeToLive(t.Context(), &dynamodb.DescribeTimeToLiveInput{TableName: &name})
				if err != nil {
					t.Fatalf("describe: %v", err)
				}
				return out.TimeToLiveDescription
			}
			if got := describe(); got.TimeToLiveStatus != types.TimeToLiveStatusDisabled {
				t.Errorf("at first %v", got.TimeToLiveStatus)
			}
			_, err := l.UpdateTimeToLive(t.Context(), &dynamodb.UpdateTimeToLiveInput{
				TableName: &name, TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String("ttl"), Enabled: aws.Bool(true)},
			})
			if err != nil {
				t.Fatalf("update: %v", err)
			}
			if got := describe(); got.TimeToLiveStatus == types.TimeToLiveStatusDisabled || aws.ToString(got.AttributeName) != "ttl" {
				t.Errorf("then %v by %s", got.TimeToLiveStatus, aws.ToString(got.AttributeName))
			}
		}},
		{"tags and point-in-time recovery are kept", func(t T) {
			name := l.another(t)
			out, err := l.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: &name})
			if err != nil {
				t.Fatalf("describe: %v", err)
			}
			if _, err := l.TagResource(t.Context(), &dynamodb.TagResourceInput{ResourceArn: out.Table.TableArn, Tags: []types.Tag{{Key: aws.String("k"), Value: aws.String("v")}}}); err != nil {
				t.Fatalf("tag: %v", err)
			}
			tags, err := l.ListTagsOfResource(t.Context(), &dynamodb.ListTagsOfResourceInput{ResourceArn: out.Table.TableArn})
			if err != nil || len(tags.Tags) != 1 || aws.ToString(tags.Tags[0].Value) != "v" {
				t.Errorf("tags %v, %v", tags, err)
			}
			backups, err := l.UpdateContinuousBackups(t.Context(), &dynamodb.UpdateContinuousBackupsInput{
				TableName: &name, PointInTimeRecoverySpecification: &types.PointInTimeRecoverySpecification{PointInTimeRecoveryEnabled: aws.Bool(true)},
			})
			if err != nil || backups.ContinuousBackupsDescription.PointInTimeRecoveryDescription.PointInTimeRecoveryStatus != types.PointInTimeRecoveryStatusEnabled {
				t.Errorf("backups %v, %v", backups, err)
			}
		}},
	}
}
