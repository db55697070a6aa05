package dynamodb_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb"
)

func (w *world) describe(t testing.TB, name string) *types.TableDescription {
	t.Helper()
	out, err := w.DescribeTable(t.Context(), &sdk.DescribeTableInput{TableName: aws.String(name)})
	if err != nil {
		t.Fatal(err)
	}
	return out.Table
}

func TestTableIsDescribedAsItWasDeclared(t *testing.T) {
	w := newWorld(t)
	w.put(t, with(key("p", "a"), "g2pk", str("i-1")))
	d := w.describe(t, "ledger")
	if d.TableStatus != types.TableStatusActive || d.BillingModeSummary.BillingMode != types.BillingModePayPerRequest ||
		len(d.AttributeDefinitions) != 5 || len(d.KeySchema) != 2 || aws.ToInt64(d.ItemCount) != 1 || aws.ToInt64(d.TableSizeBytes) != 13 ||
		!d.CreationDateTime.Equal(start) || aws.ToString(d.TableArn) != "arn:aws:dynamodb:us-west-2:123456789012:table/ledger" {
		t.Errorf("table %+v", d)
	}
	if len(d.GlobalSecondaryIndexes) != 2 || aws.ToInt64(d.GlobalSecondaryIndexes[1].ItemCount) != 1 ||
		d.GlobalSecondaryIndexes[0].IndexStatus != types.IndexStatusActive || !strings.HasSuffix(aws.ToString(d.GlobalSecondaryIndexes[0].IndexArn), "/index/due") {
		t.Errorf("indexes %+v", d.GlobalSecondaryIndexes)
	}
	if byARN := w.describe(t, aws.ToString(d.TableArn)); aws.ToString(byARN.TableId) != aws.ToString(d.TableId) {
		t.Error("the ARN names another table")
	}
}

func TestTablesComeAndGoInTheirTime(t *testing.T) {
	w := newWorld(t)
	w.model.SetDurations(dynamodb.Durations{Table: 10 * time.Second})
	created, err := w.CreateTable(t.Context(), ledger("slow"))
	if err != nil || created.TableDescription.TableStatus != types.TableStatusCreating {
		t.Fatalf("created %v, %v", created, err)
	}
	put := func() error {
		_, err := w.PutItem(t.Context(), &sdk.PutItemInput{TableName: aws.String("slow"), Item: key("a", "b")})
		return err
	}
	wantError(t, put(), "ResourceNotFoundException", "Requested resource not found")
	_, err = w.DeleteTable(t.Context(), &sdk.DeleteTableInput{TableName: aws.String("slow")})
	wantError(t, err, "ResourceInUseException", "")
	w.clock.Advance(10 * time.Second)
	if err := put(); err != nil {
		t.Error(err)
	}
	_, err = w.CreateTable(t.Context(), ledger("slow"))
	wantError(t, err, "ResourceInUseException", "Table already exists: slow")
	if _, err := w.DeleteTable(t.Context(), &sdk.DeleteTableInput{TableName: aws.String("slow")}); err != nil {
		t.Fatal(err)
	}
	if got := w.describe(t, "slow").TableStatus; got != types.TableStatusDeleting {
		t.Errorf("status %s while it goes", got)
	}
	wantError(t, put(), "ResourceNotFoundException", "")
	w.clock.Advance(10 * time.Second)
	_, err = w.DescribeTable(t.Context(), &sdk.DescribeTableInput{TableName: aws.String("slow")})
	wantError(t, err, "ResourceNotFoundException", "Requested resource not found: Table: slow not found")
}

func TestTablesAreListedInOrderAndPages(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"zeta", "alpha"} {
		if _, err := w.CreateTable(t.Context(), ledger(name)); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	pages := sdk.NewListTablesPaginator(w, &sdk.ListTablesInput{Limit: aws.Int32(2)})
	for pages.HasMorePages() {
		out, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, strings.Join(out.TableNames, " "))
	}
	if fmt.Sprint(got) != "[alpha ledger zeta]" || len(got) != 2 {
		t.Errorf("pages %q, want two", got)
	}
}

func TestTableDeclarationsAreChecked(t *testing.T) {
	w := newWorld(t)
	cases := []struct {
		break_ func(*sdk.CreateTableInput)
		want   string
	}{
		{func(in *sdk.CreateTableInput) { in.TableName = aws.String("a;") }, "1 validation error detected: Value 'a;' at 'tableName' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+"},
		{func(in *sdk.CreateTableInput) { in.GlobalSecondaryIndexes = in.GlobalSecondaryIndexes[:1] },
			"One or more parameter values were invalid: Some AttributeDefinitions are not used. AttributeDefinitions: [g1pk, g1sk, g2pk, pk, sk], keys used: [g1pk, g1sk, pk, sk]"},
		{func(in *sdk.CreateTableInput) { in.KeySchema = keys("pk", "nope") },
			"One or more parameter values were invalid: Some index key attributes are not defined in AttributeDefinitions. Keys: [nope], AttributeDefinitions: [g1pk, g1sk, g2pk, pk, sk]"},
		{func(in *sdk.CreateTableInput) { in.KeySchema[0].KeyType = types.KeyTypeRange }, "Invalid KeySchema: Element 0 must be a HASH key"},
		{func(in *sdk.CreateTableInput) { in.BillingMode = "" },
			"One or more parameter values were invalid: ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED"},
		{func(in *sdk.CreateTableInput) {
			in.ProvisionedThroughput = &types.ProvisionedThroughput{ReadCapacityUnits: aws.Int64(1), WriteCapacityUnits: aws.Int64(1)}
		}, "One or more parameter values were invalid: Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST"},
		{func(in *sdk.CreateTableInput) { in.GlobalSecondaryIndexes[1].IndexName = aws.String("due") }, "One or more parameter values were invalid: Duplicate index name: due"},
		{func(in *sdk.CreateTableInput) {
			in.GlobalSecondaryIndexes[1].Projection.ProjectionType = types.ProjectionTypeInclude
		},
			"One or more parameter values were invalid: ProjectionType is INCLUDE, but NonKeyAttributes is not specified"},
		{func(in *sdk.CreateTableInput) { in.AttributeDefinitions[0].AttributeType = "L" },
			"1 validation error detected: Value 'L' at 'attributeDefinitions.member.attributeType' failed to satisfy constraint: Member must satisfy enum value set: [B, N, S]"},
		{func(in *sdk.CreateTableInput) {
			in.StreamSpecification = &types.StreamSpecification{StreamEnabled: aws.Bool(true)}
		}, "StreamSpecification is not modelled"},
	}
	for _, c := range cases {
		in := ledger("fresh")
		c.break_(in)
		_, err := w.CreateTable(t.Context(), in)
		wantError(t, err, "ValidationException", c.want)
	}
	in := ledger("provisioned")
	in.BillingMode = types.BillingModeProvisioned
	in.ProvisionedThroughput = &types.ProvisionedThroughput{ReadCapacityUnits: aws.Int64(5), WriteCapacityUnits: aws.Int64(6)}
	if _, err := w.CreateTable(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	if got := w.describe(t, "provisioned").ProvisionedThroughput; aws.ToInt64(got.WriteCapacityUnits) != 6 {
		t.Errorf("throughput %+v", got)
	}
}

func TestUpdateTableChangesIndexesAndProtection(t *testing.T) {
	w := newWorld(t)
	w.put(t, with(key("p", "a"), "owner_id", str("x"), "g2pk", str("i-1")))
	update := func(change types.GlobalSecondaryIndexUpdate, definitions ...string) error {
		in := &sdk.UpdateTableInput{TableName: aws.String("ledger"), GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{change}}
		for _, name := range definitions {
			in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{AttributeName: aws.String(name), AttributeType: types.ScalarAttributeTypeS})
		}
		_, err := w.UpdateTable(t.Context(), in)
		return err
	}
	create := types.GlobalSecondaryIndexUpdate{Create: &types.CreateGlobalSecondaryIndexAction{
		IndexName: aws.String("owner"), KeySchema: keys("owner_id"), Projection: &types.Projection{ProjectionType: types.ProjectionTypeAll},
	}}
	if err := update(create, "owner_id"); err != nil {
		t.Fatal(err)
	}
	ask := query("owner_id = :a", "x")
	ask.IndexName = aws.String("owner")
	if out, err := w.Query(t.Context(), ask); err != nil || out.Count != 1 {
		t.Errorf("the new index shows %v, %v; want the item that was there", out, err)
	}
	if err := update(types.GlobalSecondaryIndexUpdate{Delete: &types.DeleteGlobalSecondaryIndexAction{IndexName: aws.String("node")}}); err != nil {
		t.Fatal(err)
	}
	if d := w.describe(t, "ledger"); len(d.GlobalSecondaryIndexes) != 2 || len(d.AttributeDefinitions) != 5 {
		t.Errorf("after the change %+v", d)
	}
	protect := func(on bool) {
		if _, err := w.UpdateTable(t.Context(), &sdk.UpdateTableInput{TableName: aws.String("ledger"), DeletionProtectionEnabled: aws.Bool(on)}); err != nil {
			t.Fatal(err)
		}
	}
	protect(true)
	_, err := w.DeleteTable(t.Context(), &sdk.DeleteTableInput{TableName: aws.String("ledger")})
	wantError(t, err, "ValidationException", "Resource cannot be deleted as it is currently protected against deletion. Disable deletion protection first.")
	protect(false)
	if _, err := w.DeleteTable(t.Context(), &sdk.DeleteTableInput{TableName: aws.String("ledger")}); err != nil {
		t.Error(err)
	}
}

func TestSettingsOfATableAreKept(t *testing.T) {
	w := newWorld(t)
	arn := w.describe(t, "ledger").TableArn
	tags := []types.Tag{{Key: aws.String("b"), Value: aws.String("2")}, {Key: aws.String("a"), Value: aws.String("1")}}
	if _, err := w.TagResource(t.Context(), &sdk.TagResourceInput{ResourceArn: arn, Tags: tags}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.UntagResource(t.Context(), &sdk.UntagResourceInput{ResourceArn: arn, TagKeys: []string{"b"}}); err != nil {
		t.Fatal(err)
	}
	listed, err := w.ListTagsOfResource(t.Context(), &sdk.ListTagsOfResourceInput{ResourceArn: arn})
	if err != nil || len(listed.Tags) != 1 || aws.ToString(listed.Tags[0].Value) != "1" {
		t.Errorf("tags %v, %v", listed, err)
	}
	if _, err := w.UpdateContinuousBackups(t.Context(), &sdk.UpdateContinuousBackupsInput{
		TableName: aws.String("ledger"), PointInTimeRecoverySpecification: &types.PointInTimeRecoverySpecification{PointInTimeRecoveryEnabled: aws.Bool(true)},
	}); err != nil {
		t.Fatal(err)
	}
	backups, err := w.DescribeContinuousBackups(t.Context(), &sdk.DescribeContinuousBackupsInput{TableName: aws.String("ledger")})
	if err != nil || backups.ContinuousBackupsDescription.PointInTimeRecoveryDescription.PointInTimeRecoveryStatus != types.PointInTimeRecoveryStatusEnabled {
		t.Errorf("backups %v, %v", backups, err)
	}
	limits, err := w.DescribeLimits(t.Context(), &sdk.DescribeLimitsInput{})
	if err != nil || aws.ToInt64(limits.TableMaxWriteCapacityUnits) != 40000 {
		t.Errorf("limits %v, %v", limits, err)
	}
	endpoints, err := w.DescribeEndpoints(t.Context(), &sdk.DescribeEndpointsInput{})
	if err != nil || len(endpoints.Endpoints) != 1 || !strings.HasPrefix(aws.ToString(endpoints.Endpoints[0].Address), "127.0.0.1:") {
		t.Errorf("endpoints %v, %v", endpoints, err)
	}
}
